// A policy operator without a kind of its own: namespaces need an owner, and get a network policy that denies what is
// not allowed.
import {defineController, required, validating, warning} from '@platio/plat/operator';
import {Namespace, NetworkPolicy} from '@platio/plat/operator/kinds';

/** The label that every namespace needs, and namespaces that the policy does not concern. */
export const ownerLabel = 'example.com/owner';
const isExempt = (name = ''): boolean => name === 'default' || name.startsWith('kube-');

/** Refuses namespaces without an owner, and warns of owners that look like persons. */
export const ownerPolicy = validating(Namespace, function* ({object}) {
  const {name, labels = {}} = object!.metadata ?? {};
  if (isExempt(name)) return;
  const owner = labels[ownerLabel];
  if (!owner) yield required(`metadata.labels[${ownerLabel}]`, 'every namespace needs an owner');
  else if (!owner.startsWith('team-')) yield warning(`${ownerLabel}: owners should be teams`);
});

/** Keeps a network policy in each namespace, also when somebody deletes or changes it. */
export const defaultPolicies = defineController({
  name: 'default-policies',
  for: Namespace,
  owns: [NetworkPolicy],
  async reconcile({key, object: namespace, client}) {
    if (!namespace || isExempt(key.name) || namespace.metadata.deletionTimestamp) return;
    await client.apply(NetworkPolicy, {
      metadata: {name: 'deny-by-default', namespace: key.name},
      spec: {podSelector: {}, policyTypes: ['Ingress']},
    });
  },
});
