// What each client begins and ends with: settings as a gateway gets them, a line that says it listens,
// and an end when the test that started it lets go of it.
import { createInterface } from "node:readline";

const { SLACK_API_URL, SLACK_BOT_TOKEN, SLACK_APP_TOKEN, SLACK_SIGNING_SECRET } = process.env;

export const apiUrl = `${SLACK_API_URL}/`;
export const botToken = SLACK_BOT_TOKEN;
export const signingSecret = SLACK_SIGNING_SECRET;
export const appToken = SLACK_APP_TOKEN;

// Nothing here comes from a library's log, so a test can tell this line from those.
export function ready(url) {
  console.log(`ready ${url}`);
}

// Also when the test was killed: its end of the pipe closes with it.
export async function released() {
  for await (const _ of createInterface({ input: process.stdin }));
}
