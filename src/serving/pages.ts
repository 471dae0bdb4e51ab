import type {Writable} from 'node:stream';
import type {PagedBody} from '#src/api/request.js';
import type {Sent} from './deliveries.js';

/** Sends a collection page by page, each once the one before was taken. Stops reading it when the reader is gone; rejects, and breaks the answer off, when the rest cannot be read. */
export const sendPages = async (body: PagedBody, outlet: Writable, sent: Sent): Promise<void> => {
  outlet.once('close', () => body.close());
  try {
    for (let page = await body.next(); page !== undefined && !outlet.destroyed; page = await body.next()) {
      sent.waits(page.length);
      if (!outlet.write(page)) await taken(outlet);
      if (outlet.destroyed) return;
      sent.waits(0);
    }
    if (!outlet.destroyed) outlet.end();
  } catch (error) {
    // Without an error a stream of HTTP/2 would seem to have come to its end.
    outlet.destroy(error as Error);
    throw error;
  } finally {
    body.close();
  }
};

const taken = (outlet: Writable): Promise<void> =>
  new Promise(resolve => {
    const go = () => {
      outlet.off('drain', go).off('close', go);
      resolve();
    };
    outlet.on('drain', go).on('close', go);
  });
