import {PassThrough} from 'node:stream';
import type {WebSocketClient} from './websocket-server.js';

/** The requested streams of a command. */
export interface RequestedStreams {
  readonly stdin: boolean;
  readonly stdout: boolean;
  readonly stderr: boolean;
  readonly tty: boolean;
}

/** The channels of a client's messages, given by their first byte. */
export const channels = {stdin: 0, stdout: 1, stderr: 2, error: 3, resize: 4, close: 255} as const;

const maxSizeLength = 4096;

/**
 * The size limit of a message in base64, which is decoded at once; clients send at most 64 KiB. A longer one ends the
 * connection.
 */
export const maxTextBytes = 8 << 20;

/** A message on a channel. */
export const message = (channel: number, bytes: Buffer): Buffer => Buffer.concat([Buffer.from([channel]), bytes]);

/** The input from a client. */
export interface Input {
  readonly stdin: PassThrough;
  onResize(run: (size: string) => void): void;
  /** Ignores all further input. */
  ignore(): void;
}

/** Splits the input of a client by channel. Text messages have the channel as a digit, and base64 content. */
export const inputOf = (client: WebSocketClient, {stdin: wantsStdin, tty}: RequestedStreams, isText = false): Input => {
  const stdin = new PassThrough();
  let sizes: string[] = [];
  let resize = (size: string): void => void sizes.push(size);
  let ignored = false;
  let text = '';
  stdin.on('drain', () => client.pause(false));
  stdin.on('error', () => {});
  const resized = (bytes: Buffer): void => {
    text = (text + bytes.toString()).slice(-maxSizeLength);
    for (let end = text.indexOf('}'); end >= 0; end = text.indexOf('}')) {
      const size = sizeIn(text.slice(0, end + 1));
      text = text.slice(end + 1);
      if (size && sizes.length < maxSizeLength) resize(size);
    }
  };
  client.onMessage(received => {
    if (isText && received.length > maxTextBytes) return client.terminate();
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

/** Returns the content of a text message, which its channel precedes. */
export const contentOf = (text: Buffer): Buffer => Buffer.from(text.toString('latin1', 1), 'base64');

const decoded = (text: Buffer): Buffer => (text.length === 0 ? text : message(text[0]! - 48, contentOf(text)));

/** A terminal size in the form that agents receive. */
const sizeIn = (text: string): string | undefined => {
  try {
    const {Width, Height} = JSON.parse(text) as {Width?: number; Height?: number};
    return Number.isInteger(Width) && Number.isInteger(Height) ? `${JSON.stringify({Width, Height})}\n` : undefined;
  } catch {
    return undefined;
  }
};
