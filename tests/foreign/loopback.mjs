// Loaded before a client: ends the network at this machine, so that a client which doesn't take the
// emulator's address everywhere fails here instead of calling the real platform.
import net from "node:net";

const LOCAL = new Set(["127.0.0.1", "::1", "localhost"]);
const connect = net.Socket.prototype.connect;

net.Socket.prototype.connect = function (...given) {
  // net's own callers hand over their arguments as one list: the options, then the callback.
  const [first, second] = Array.isArray(given[0]) ? given[0] : given;
  const host = typeof first === "object" ? first.host : second;
  if (host && !LOCAL.has(host)) {
    throw new Error(`a client tried to reach ${host}: only the emulator on loopback may be reached`);
  }
  return connect.apply(this, given);
};
