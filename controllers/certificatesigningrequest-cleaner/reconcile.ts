import {kinds} from '#src/api/kinds/index.js';
import {isNotFound} from '#src/api/status.js';
import {Pieces} from '#src/base/turn.js';
import {settled, type KeyedContext, type Reconcile} from '#src/runtime/controller.js';
import {reasonToDelete} from './policy.js';

/** One pass over all requests. A failed deletion is retried at the next pass. */
export const cleaner = ({lister, writer, clock}: KeyedContext): Reconcile => {
  const cached = lister(kinds.certificateSigningRequests);
  const pieces = new Pieces(clock);
  const requests = writer(kinds.certificateSigningRequests);
  return async (_, {log, signal}) => {
    for (const csr of cached.list()) {
      const pause = pieces.pause();
      if (pause) await pause;
      const reason = reasonToDelete(csr, clock.now());
      if (reason === undefined) continue;
      if (signal.aborted) break;
      const name = csr.metadata?.name;
      try {
        await requests.delete(csr, {onlyIf: 'named'});
        log.v(2).info({csr: name, reason}, 'deleted a certificate signing request');
      } catch (error) {
        if (!isNotFound(error)) log.error({csr: name, reason, err: error}, 'a certificate signing request could not be deleted');
      }
    }
    return settled;
  };
};
