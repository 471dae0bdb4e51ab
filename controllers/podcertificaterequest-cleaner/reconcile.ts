import {keyOf, keyText} from '#src/api/key.js';
import {kinds} from '#src/api/kinds/index.js';
import {isNotFound} from '#src/api/status.js';
import {parseTime} from '#src/api/time.js';
import {Yielder} from '#src/base/turn.js';
import {settled, type KeyedContext, type Reconcile} from '#src/runtime/controller.js';

const maxAgeMs = 15 * 60_000;

/** One pass over all requests. A failed deletion is retried at the next pass. */
export const cleaner = ({lister, writer, clock}: KeyedContext): Reconcile => {
  const cached = lister(kinds.podCertificateRequests);
  const requests = writer(kinds.podCertificateRequests);
  const pieces = new Yielder(clock);
  return async (_, {log, signal}) => {
    const latest = clock.now() - maxAgeMs;
    for (const request of cached.list()) {
      const pause = pieces.pause();
      if (pause) await pause;
      if (signal.aborted) break;
      const created = parseTime(request.metadata?.creationTimestamp);
      if (created !== undefined && created > latest) continue;
      try {
        await requests.delete(request);
        log.v(4).info({request: keyText(keyOf(request))}, 'deleted an old pod certificate request');
      } catch (error) {
        if (!isNotFound(error)) log.error({request: keyText(keyOf(request)), err: error}, 'a pod certificate request could not be deleted');
      }
    }
    return settled;
  };
};
