import {readFileSync} from 'node:fs';
import {join} from 'node:path';
import test from 'ava';
import {parse} from 'yaml';
import {naming} from '#src/api/naming.js';
import type {KubeObject, PolicyRule} from '#src/api/types.js';
import {bootstrapPolicy} from '#src/apiserver/authorization/bootstrap/policy.js';

const oracle = process.env['PLAT_ORACLE'];
if (!oracle) console.log('PLAT_ORACLE is unset: the bootstrap policy is not compared with the original');
const compared = oracle ? test : test.skip;

type Item = KubeObject & {rules?: PolicyRule[] | null};

/** What a vendor's build adds to the original, where the reference data are from one. */
const vendors = {role: 'system:controller:service-ca-cert-publisher', resource: 'endpointslices/restricted'} as const;

const original = (...files: string[]): Item[] =>
  files
    .flatMap(file => (parse(readFileSync(join(oracle!, 'rbac', `${file}.yaml`), 'utf8')) as {items: Item[]}).items)
    .filter(({metadata}) => metadata?.name !== vendors.role)
    .map(item => (item.rules ? {...item, rules: item.rules.filter(({resources}) => !resources?.includes(vendors.resource))} : item));

const byName = (items: readonly Item[]): Record<string, Item> =>
  Object.fromEntries(
    items
      .map((item): [string, Item] => [
        `${item.metadata?.namespace ?? ''}/${item.metadata?.name}`,
        {...item, ...('rules' in item ? {rules: item.rules ?? []} : {})},
      ])
      .sort(([one], [other]) => (one < other ? -1 : 1)),
  );

const defaults = bootstrapPolicy(naming('kubernetes'), () => false);

/** The controllers that the original does not have. */
const own: readonly string[] = ['system:controller:node-serving-approving-controller'];
const withoutOwn = <T extends Item>(items: readonly T[]): T[] => items.filter(({metadata}) => !own.includes(metadata?.name ?? ''));

compared('the cluster roles are those of the original', t => {
  t.deepEqual(byName(withoutOwn(defaults.clusterRoles)), byName(original('cluster-roles', 'controller-roles')));
});

compared('the cluster role bindings are those of the original', t => {
  t.deepEqual(byName(withoutOwn(defaults.clusterRoleBindings)), byName(original('cluster-role-bindings', 'controller-role-bindings')));
});

compared('the roles in namespaces and their bindings are those of the original', t => {
  t.deepEqual(byName(defaults.roles), byName(original('namespace-roles')));
  t.deepEqual(byName(defaults.roleBindings), byName(original('namespace-role-bindings')));
});

compared('feature gates add to the cluster roles what they add in the original', t => {
  const all = bootstrapPolicy(naming('kubernetes'), () => true).clusterRoles.filter(
    ({metadata}) => !metadata?.name?.startsWith('system:controller:'),
  );

  t.deepEqual(byName(all), byName(original('cluster-roles-featuregates')));
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
