import type {Writable} from 'node:stream';
import type {PagedBody} from '#src/api/request.js';
import type {Sent} from './deliveries.js';

/** Sends a collection page by page, with backpressure. Stops reading when the client is gone; rejects, and breaks off the response, when the rest cannot be read. */
export const sendPages = async (body: PagedBody, outlet: Writable, sent: Sent): Promise<void> => {
  outlet.once('close', () => body.close());
  try {
    for (let page = await body.next(); page !== undefined && !outlet.destroyed; page = await body.next()) {
      sent.waits(page.length);
      if (!outlet.write(page)) await drained(outlet);
      if (outlet.destroyed) return;
      sent.waits(0);
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

const drained = (outlet: Writable): Promise<void> =>
  new Promise(resolve => {
    const go = () => {
      outlet.off('drain', go).off('close', go);
      resolve();
    };
    outlet.on('drain', go).on('close', go);
  });
