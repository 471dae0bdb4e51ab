import {byAccount, accountKeyOf, tokenSecrets} from '#controllers/shared/token-secrets.js';
import {keyOf, keyText} from '#src/api/key.js';
import {kinds} from '#src/api/kinds/index.js';
import {defineController, forLoop, mapped, sameKey} from '#src/runtime/controller.js';
import {tokenReconciler, type TokenOptions} from './reconcile.js';
import {referenceKey} from './references.js';

/**
 * Fills manually created token secrets of service accounts, and deletes those whose account is gone. Accounts get no
 * secrets automatically. It uses the manager's identity: no account may create tokens of others.
 */
export default defineController<TokenOptions>({
  doc: 'Adds tokens to the token secrets of service accounts, and deletes the secrets of deleted accounts.',
  name: 'serviceaccount-token-controller',
  configuration: {
    SAController: {
      ServiceAccountKeyFile: 'service-account-private-key-file',
      ConcurrentSATokenSyncs: 'concurrent-serviceaccount-token-syncs',
      RootCAFile: 'root-ca-file',
    },
  },
  queue: {name: 'serviceaccount_tokens', maxRetries: 10},
  workers: options => options.concurrentServiceaccountTokenSyncs,
  enabled: options => (options.serviceAccountPrivateKeyFile ? true : 'there is no --service-account-private-key-file'),
  reads: [kinds.serviceAccounts, tokenSecrets],
  watches: [
    forLoop(
      'accounts',
      sameKey(kinds.serviceAccounts, ({type}) => type === 'deleted'),
    ),
    forLoop(
      'secrets',
      sameKey(tokenSecrets, ({type}) => type !== 'deleted'),
    ),
    // A recreated account has another UID than the secrets of its predecessor.
    forLoop(
      'secrets',
      mapped(kinds.serviceAccounts, ({type, object}, {lister}) =>
        type === 'added'
          ? lister(tokenSecrets)
              .by(byAccount, keyText(keyOf(object)))
              .map(keyOf)
          : [],
      ),
    ),
    forLoop(
      'references',
      mapped(tokenSecrets, ({type, object}, {naming}) =>
        type === 'deleted' ? [referenceKey(accountKeyOf(object, naming), keyOf(object))] : [],
      ),
    ),
  ],
  create: tokenReconciler,
});
