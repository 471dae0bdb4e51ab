import {bootstrapTokens} from '#controllers/shared/bootstrap-tokens.js';
import {keyText} from '#src/api/key.js';
import {kinds} from '#src/api/kinds/index.js';
import {isConflict, isNotFound} from '#src/api/status.js';
import {expirationOf} from '#src/model/bootstrap-token.js';
import {requeueAfter, settled, type KeyedContext, type Reconcile} from '#src/runtime/controller.js';

/**
 * Deletes the token of the key if it has expired, or returns to it when it will have. A failed deletion is logged; the
 * next change of the token repeats it.
 */
export const cleaner = ({lister, writer, clock}: KeyedContext): Reconcile => {
  const tokens = lister(bootstrapTokens);
  const secrets = writer(kinds.secrets);
  return async (key, {log}) => {
    const token = tokens.get(key);
    const expiration = token && expirationOf(token);
    if (token === undefined || expiration === undefined) return settled;
    const remaining = expiration - clock.now();
    if (remaining > 0) return requeueAfter(remaining);
    if (Number.isNaN(expiration)) log.error({secret: keyText(key)}, 'a bootstrap token with an invalid expiration is deleted');
    try {
      await secrets.delete(token);
      log.v(3).info({secret: keyText(key)}, 'deleted an expired bootstrap token');
    } catch (error) {
      if (!isConflict(error) && !isNotFound(error)) log.error({secret: keyText(key), err: error}, 'a bootstrap token could not be deleted');
    }
    return settled;
  };
};
