// A bot kit that speaks with many platforms: its Slack adapter, by HTTP or by Socket Mode.
import { once } from "node:events";
import { createServer } from "node:http";
import { buffer } from "node:stream/consumers";

import { createSlackAdapter } from "@chat-adapter/slack";
import { createMemoryState } from "@chat-adapter/state-memory";
import { Actions, Button, Card, CardText, Chat, ConsoleLogger } from "chat";

import { apiUrl, appToken, botToken, ready, released, signingSecret } from "./stage.mjs";

const logger = new ConsoleLogger("warn");
const bot = new Chat({
  userName: "june",
  logger,
  state: createMemoryState(),
  adapters: {
    slack: createSlackAdapter({
      apiUrl,
      botToken,
      logger,
      ...(appToken ? { mode: "socket", appToken } : { signingSecret }),
    }),
  },
});

async function* answer() {
  const step = { type: "task_update", id: "look", title: "Looking up order 1042" };
  yield { ...step, status: "in_progress" };
  yield* ["Order 1042 ", "is **lost**", ".\n\n"];
  yield { ...step, status: "complete" };
  yield* ["It left on Monday", " and never came."];
}

bot.onNewMention(async (thread) => {
  await thread.post(answer());
  const buttons = [
    Button({ id: "approve", label: "Approve", style: "primary", value: "1042" }),
    Button({ id: "deny", label: "Deny", style: "danger", value: "1042" }),
  ];
  const children = [CardText("Refund it?"), Actions(buttons)];
  await thread.post(Card({ title: "Order 1042", children }));
});

bot.onAction("approve", async (event) => {
  const text = `Order ${event.value} refunded, said ${event.user.userName}.`;
  await event.adapter.editMessage(event.threadId, event.messageId, text);
});

async function listen() {
  const server = createServer(async (incoming, outgoing) => {
    const request = new Request(new URL(incoming.url, "http://127.0.0.1"), {
      method: "POST",
      headers: incoming.headers,
      body: await buffer(incoming),
    });
    const waitUntil = (work) => void work;
    const response = await bot.webhooks.slack(request, { waitUntil });
    outgoing.writeHead(response.status, Object.fromEntries(response.headers));
    outgoing.end(Buffer.from(await response.arrayBuffer()));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return server;
}

await bot.initialize();
const server = appToken ? null : await listen();
ready(server ? `http://127.0.0.1:${server.address().port}/slack` : "");
await released();
await bot.shutdown();
server?.close();
