import test from 'ava';
import {naming} from '#src/api/naming.js';
import {bootstrapPolicy, type BootstrapPolicy} from '#src/apiserver/authorization/bootstrap/policy.js';
import {policyRows, type PolicyItem} from '#test/reference/policy.js';
import {differences, readTable} from '#test/reference/table.js';

/** What a vendor's build adds to the original, where the reference data are from one. */
const vendors = {role: 'system:controller:service-ca-cert-publisher', resource: 'endpointslices/restricted'} as const;

const defaults = bootstrapPolicy(naming('kubernetes'), () => false);

/** The controllers that the original does not have. */
const own: readonly string[] = ['system:controller:node-serving-approving-controller'];

const rowsOf = (items: readonly PolicyItem[]) => policyRows(items.filter(({metadata}) => !own.includes(metadata?.name ?? '')));

test('the roles and bindings are those of the original', t => {
  const {clusterRoles, clusterRoleBindings, roles, roleBindings}: BootstrapPolicy = defaults;

  t.deepEqual(differences('policy', readTable('policy'), rowsOf([...clusterRoles, ...clusterRoleBindings, ...roles, ...roleBindings])), []);
});

test('feature gates add to the cluster roles what they add in the original', t => {
  const all = bootstrapPolicy(naming('kubernetes'), () => true).clusterRoles.filter(
    ({metadata}) => !metadata?.name?.startsWith('system:controller:'),
  );

  t.deepEqual(differences('policy-with-all-gates', readTable('policy-with-all-gates'), policyRows(all)), []);
});

test('no role or rule of a vendor is in the policy', t => {
  const text = JSON.stringify(defaults);

  for (const part of Object.values(vendors)) t.false(text.includes(part), part);
});

test('the policy speaks its naming throughout', t => {
  const text = JSON.stringify(bootstrapPolicy(naming('plat'), () => true));

  t.notRegex(text, /kube|k8s/);
  t.true(text.includes('system:certificates.plat.io:plat-apiserver-client-platlet-approver'));
});

test('the policy is made once for the same gates, frozen, and anew for others', t => {
  const words = naming('kubernetes');
  const none = bootstrapPolicy(words, () => false);
  const [first] = none.clusterRoles;

  t.is(
    bootstrapPolicy(words, () => false),
    none,
  );
  t.is(
    bootstrapPolicy(words, name => name === 'NoGateOfThePolicy'),
    none,
  );
  t.true(bootstrapPolicy(words, () => true).clusterRoles.length > none.clusterRoles.length);
  t.is(
    bootstrapPolicy(words, () => false),
    none,
  );
  t.throws(() => void (first!.rules as unknown[]).push({}), {instanceOf: TypeError});
  t.throws(() => void Object.assign(first!.metadata!.labels!, {more: 'yes'}), {instanceOf: TypeError});
});
