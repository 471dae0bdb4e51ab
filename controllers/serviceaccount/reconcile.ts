import {kinds} from '#src/api/kinds/index.js';
import {hasCause, isAlreadyExists} from '#src/api/status.js';
import {settled, type KeyedContext, type Reconcile} from '#src/runtime/controller.js';

const name = 'default';

/** Creates the account in the namespace that the key names, if it is missing. */
export const serviceAccountReconciler = ({lister, writer}: KeyedContext): Reconcile => {
  const namespaces = lister(kinds.namespaces);
  const cached = lister(kinds.serviceAccounts);
  const accounts = writer(kinds.serviceAccounts);
  return async key => {
    const namespace = key.name;
    if (namespaces.get(key)?.status?.phase !== 'Active' || cached.get({namespace, name})) return settled;
    try {
      await accounts.create({metadata: {namespace, name}});
    } catch (error) {
      // It was created concurrently, or the namespace is terminating.
      if (!isAlreadyExists(error) && !hasCause(error, 'NamespaceTerminating')) throw error;
    }
    return settled;
  };
};
