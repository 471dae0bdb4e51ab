import type {Listener} from './listener.js';

/** Returns two listeners of one server as one, with the address and the port of the first. */
export const joinedListeners = (first: Listener, second: Listener): Listener => ({
  address: first.address,
  port: first.port,
  get connections() {
    return first.connections + second.connections;
  },
  get refused() {
    return first.refused + second.refused;
  },
  get handshakeErrors() {
    return first.handshakeErrors + second.handshakeErrors;
  },
  setSecureContext(options) {
    first.setSecureContext(options);
    second.setSecureContext(options);
  },
  drain() {
    first.drain();
    second.drain();
  },
  async close(options) {
    await Promise.all([first.close(options), second.close(options)]);
  },
});
