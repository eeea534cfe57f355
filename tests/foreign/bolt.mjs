// Slack's own framework for Node.js: by HTTP, or by Socket Mode if there is an app token.
import bolt from "@slack/bolt";

import { apiUrl, appToken, botToken, ready, released, signingSecret } from "./stage.mjs";

const app = new bolt.App({
  token: botToken,
  ...(appToken ? { socketMode: true, appToken } : { signingSecret }),
  clientOptions: { slackApiUrl: apiUrl },
  logLevel: bolt.LogLevel.WARN,
});

const button = (label, style) => ({
  type: "button",
  action_id: label.toLowerCase(),
  text: { type: "plain_text", text: label },
  value: "1042",
  style,
});

app.event("app_mention", async ({ sayStream }) => {
  const step = { type: "task_update", id: "look", title: "Looking up order 1042" };
  const stream = sayStream({ buffer_size: 8 });
  await stream.append({ chunks: [{ ...step, status: "in_progress" }] });
  await stream.append({ markdown_text: "Order 1042 is **lost**. " });
  await stream.append({ chunks: [{ ...step, status: "complete" }] });
  await stream.append({ markdown_text: "Refund it?" });
  const elements = [button("Approve", "primary"), button("Deny", "danger")];
  await stream.stop({ blocks: [{ type: "actions", elements }] });
});

app.action("approve", async ({ ack, action, body, respond }) => {
  await ack();
  await respond({
    replace_original: true,
    text: `Order ${action.value} refunded, said ${body.user.name}.`,
  });
});

app.action("deny", async ({ ack, body, client }) => {
  await ack();
  const element = { type: "plain_text_input", action_id: "text" };
  const label = { type: "plain_text", text: "Reason" };
  await client.views.open({
    trigger_id: body.trigger_id,
    view: {
      type: "modal",
      callback_id: "reason",
      private_metadata: JSON.stringify(body.container),
      title: { type: "plain_text", text: "Why not?" },
      submit: { type: "plain_text", text: "Deny" },
      blocks: [{ type: "input", block_id: "why", label, element }],
    },
  });
});

app.view("reason", async ({ ack, client, view }) => {
  const why = view.state.values.why.text.value;
  if (why.length < 3) {
    await ack({ response_action: "errors", errors: { why: "Say a little more." } });
    return;
  }
  await ack();
  const { channel_id, message_ts } = JSON.parse(view.private_metadata);
  await client.chat.update({ channel: channel_id, ts: message_ts, text: `Not refunded: ${why}` });
});

const server = await app.start({ port: 0, host: "127.0.0.1" });
ready(appToken ? "" : `http://127.0.0.1:${server.address().port}/slack/events`);
await released();
await app.stop();
