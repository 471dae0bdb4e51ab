import {kinds} from '#src/api/kinds/index.js';
import {isNotFound} from '#src/api/status.js';
import {Yielder} from '#src/base/turn.js';
import {pagesOf} from '#src/client/pages.js';
import {settled, type KeyedContext, type Reconcile} from '#src/runtime/controller.js';
import {reasonToDelete} from './policy.js';

/** How many requests are deleted concurrently. */
const atOnce = 16;

/**
 * One pass over all requests. They are read from the server in pages, since there may be more than fit into memory:
 * requests pile up where nobody handles them. A failed deletion is retried at the next pass.
 */
export const cleaner = ({client, writer, clock}: KeyedContext): Reconcile => {
  const listed = client.resource(kinds.certificateSigningRequests);
  const pieces = new Yielder(clock);
  const requests = writer(kinds.certificateSigningRequests);
  return async (_, {log, signal}) => {
    for await (const page of pagesOf(listed, {signal})) {
      const stale: {readonly csr: (typeof page)[number]; readonly reason: string}[] = [];
      for (const csr of page) {
        const pause = pieces.pause();
        if (pause) await pause;
        const reason = reasonToDelete(csr, clock.now());
        if (reason !== undefined) stale.push({csr, reason});
      }
      const remove = async (): Promise<void> => {
        for (let next = stale.shift(); next && !signal.aborted; next = stale.shift()) {
          const name = next.csr.metadata?.name;
          const {reason} = next;
          try {
            await requests.delete(next.csr, {onlyIf: 'named'});
            log.v(2).info({csr: name, reason}, 'deleted a certificate signing request');
          } catch (error) {
            if (!isNotFound(error)) log.error({csr: name, reason, err: error}, 'a certificate signing request could not be deleted');
          }
        }
      };
      await Promise.all(Array.from({length: Math.min(atOnce, stale.length)}, remove));
      if (signal.aborted) break;
    }
    return settled;
  };
};
