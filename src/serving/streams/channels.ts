import {PassThrough} from 'node:stream';
import type {WebSocketClient} from '#src/serving/websocket-server.js';

/** Which streams of a command a client wants. */
export interface Wanted {
  readonly stdin: boolean;
  readonly stdout: boolean;
  readonly stderr: boolean;
  readonly tty: boolean;
}

/** The channels of a client's messages: the first byte of each says which it belongs to. */
export const channels = {stdin: 0, stdout: 1, stderr: 2, error: 3, resize: 4, close: 255} as const;

const longestSize = 4096;

/** A message on a channel. */
export const message = (channel: number, bytes: Buffer): Buffer => Buffer.concat([Buffer.from([channel]), bytes]);

/** What a client says. */
export interface Input {
  readonly stdin: PassThrough;
  onResize(run: (size: string) => void): void;
  /** What he still says matters to nobody. */
  ignore(): void;
}

/** Sorts what a client says by its channels. Texts carry the number of their channel as a digit, and base64. */
export const inputOf = (client: WebSocketClient, {stdin: wantsStdin, tty}: Wanted, isText = false): Input => {
  const stdin = new PassThrough();
  let sizes: string[] = [];
  let resize = (size: string): void => void sizes.push(size);
  let ignored = false;
  let text = '';
  stdin.on('drain', () => client.pause(false));
  stdin.on('error', () => {});
  const resized = (bytes: Buffer): void => {
    text = (text + bytes.toString()).slice(-longestSize);
    for (let end = text.indexOf('}'); end >= 0; end = text.indexOf('}')) {
      const size = sizeIn(text.slice(0, end + 1));
      text = text.slice(end + 1);
      if (size && sizes.length < longestSize) resize(size);
    }
  };
  client.onMessage(received => {
    const bytes = isText ? decoded(received) : received;
    const [channel, closed] = bytes;
    if (ignored || channel === undefined) return;
    if (channel === channels.stdin && wantsStdin && !stdin.writableEnded) {
      if (!stdin.write(bytes.subarray(1))) client.pause(true);
    } else if (channel === channels.close && closed === channels.stdin) stdin.end();
    else if (channel === channels.resize && tty) resized(bytes.subarray(1));
  });
  return {
    stdin,
    onResize(run) {
      resize = run;
      for (const size of sizes) run(size);
      sizes = [];
    },
    ignore() {
      ignored = true;
      stdin.destroy();
      client.pause(false);
    },
  };
};

const decoded = (text: Buffer): Buffer => (text.length === 0 ? text : message(text[0]! - 48, Buffer.from(text.subarray(1).toString(), 'base64')));

/** A size of a terminal as agents are told it. */
const sizeIn = (text: string): string | undefined => {
  try {
    const {Width, Height} = JSON.parse(text) as {Width?: number; Height?: number};
    return Number.isInteger(Width) && Number.isInteger(Height) ? `${JSON.stringify({Width, Height})}\n` : undefined;
  } catch {
    return undefined;
  }
};
