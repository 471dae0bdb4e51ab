import {tokenSecrets} from '#controllers/shared/token-secrets.js';
import {kinds} from '#src/api/kinds/index.js';
import {defineController, every, singletonKey} from '#src/runtime/controller.js';
import {cleaner, type CleanerOptions} from './reconcile.js';

/**
 * Removes legacy auto-generated token secrets that are unused: they are labelled as invalid first, and deleted after
 * another period. One pass at the start, and one each day. Manually created secrets are kept.
 */
export default defineController<CleanerOptions>({
  doc: 'Labels unused auto-generated token secrets as invalid, and deletes them after another clean-up period.',
  name: 'legacy-serviceaccount-token-cleaner-controller',
  serviceAccount: 'legacy-service-account-token-cleaner',
  configuration: {LegacySATokenCleaner: {CleanUpPeriod: 'legacy-service-account-token-clean-up-period'}},
  reads: [kinds.serviceAccounts, kinds.pods, tokenSecrets],
  watches: [every('24h')],
  create(context) {
    context.enqueue(singletonKey);
    return cleaner(context);
  },
});
