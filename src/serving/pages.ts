import type {Writable} from 'node:stream';
import type {PagedBody} from '#src/api/request.js';
import type {Sent} from './deliveries.js';

/** Sends a collection page by page, with backpressure. Stops reading when the client is gone; rejects, and breaks off the response, when the rest cannot be read. */
export const sendPages = async (body: PagedBody, outlet: Writable, sent: Sent): Promise<void> => {
  outlet.once('close', () => body.close());
  try {
    for (let page = await body.next(); page !== undefined && !outlet.destroyed; page = await body.next()) {
      await writeSlices(page, outlet, sent);
      if (outlet.destroyed) return;
    }
    if (!outlet.destroyed) outlet.end();
  } catch (error) {
    // Without an error an HTTP/2 stream would seem complete.
    outlet.destroy(error as Error);
    throw error;
  } finally {
    body.close();
  }
};

/** TLS encrypts what it is given at once, into memory of the connection, which takes time to fill and to free. */
const sliceBytes = 64 << 10;

/** Sends a long body with backpressure, and ends the response. */
export const sendBytes = async (bytes: Buffer, outlet: Writable, sent: Sent): Promise<void> => {
  await writeSlices(bytes, outlet, sent);
  if (!outlet.destroyed) outlet.end();
};

/** Writes bytes in slices, and resolves when the client has taken them or is gone. */
const writeSlices = async (bytes: Buffer, outlet: Writable, sent: Sent): Promise<void> => {
  for (let at = 0; at < bytes.length && !outlet.destroyed; at += sliceBytes) {
    sent.waits(bytes.length - at);
    const turn = sent.pause();
    if (turn) await turn;
    if (outlet.destroyed) break;
    if (!outlet.write(bytes.subarray(at, at + sliceBytes))) await drained(outlet);
  }
  sent.waits(0);
};

const drained = (outlet: Writable): Promise<void> =>
  new Promise(resolve => {
    const go = () => {
      outlet.off('drain', go).off('close', go);
      resolve();
    };
    outlet.on('drain', go).on('close', go);
  });
