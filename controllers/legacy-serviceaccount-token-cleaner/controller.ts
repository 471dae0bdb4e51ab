import {tokenSecrets} from '#controllers/shared/token-secrets.js';
import {kinds} from '#src/api/kinds.js';
import {defineController, every, singletonKey} from '#src/runtime/controller.js';
import {cleaner, type CleanerOptions} from './reconcile.js';

/**
 * Clears away the token secrets that accounts once got unasked and that nobody has used for long: first they are marked invalid, and after as long again
 * they are deleted. One pass at the start, and one each day. Secrets that people made are never touched.
 */
export default defineController<CleanerOptions>({
  doc: 'Marks token secrets of old that nobody uses as invalid, and deletes them after as long again.',
  name: 'legacy-serviceaccount-token-cleaner-controller',
  serviceAccount: 'legacy-service-account-token-cleaner',
  flags: ['legacy-service-account-token-clean-up-period'],
  reads: [kinds.serviceAccounts, kinds.pods, tokenSecrets],
  watches: [every('24h')],
  create(context) {
    context.enqueue(singletonKey);
    return cleaner(context);
  },
});
