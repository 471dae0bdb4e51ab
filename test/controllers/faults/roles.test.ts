import test from 'ava';
import {controllers} from '#controllers/index.js';
import type {Attributes} from '#src/api/authorization.js';
import {naming} from '#src/api/naming.js';
import type {PolicyRule} from '#src/api/types.js';
import {allows} from '#src/apiserver/authorization/rules.js';
import {bootstrapPolicy} from '#src/apiserver/authorization/bootstrap/policy.js';
import {serviceAccountOf, type Controller} from '#src/runtime/controller.js';
import {planeKeys} from './keys.js';
import {play} from './harness.js';
import {rulesOfOriginal} from './rules-of-original.js';
import {scenarios} from './scenarios.js';

const words = naming('plat');
const policy = bootstrapPolicy(words, () => true);

/** A rule of a controller's role, with the namespace where it is granted; empty for all. */
interface Granted {
  readonly rule: PolicyRule;
  readonly namespace: string;
}

const rolesOf = (account: string): Granted[] => {
  const name = `system:controller:${account}`;
  return [...policy.clusterRoles, ...policy.roles]
    .filter(({metadata}) => metadata?.name === name)
    .flatMap(({metadata, rules}) => (rules ?? []).map(rule => ({rule, namespace: metadata?.namespace ?? ''})));
};

/** Rules of every authenticated user. */
const everybody = policy.clusterRoles
  .filter(({metadata}) => ['system:discovery', 'system:basic-user', 'system:public-info-viewer'].includes(metadata!.name!))
  .flatMap(({rules}) => (rules ?? []).map((rule): Granted => ({rule, namespace: ''})));

const isGranted = ({rule, namespace}: Granted, attributes: Attributes): boolean =>
  (namespace === '' || namespace === attributes.resource?.namespace) && allows(rule, attributes);

/** The parts of a rule: one verb on one resource each. */
const partsOf = ({rule, namespace}: Granted): {readonly part: Granted; readonly text: string}[] =>
  (rule.verbs ?? []).flatMap(verb =>
    (rule.resources ?? []).flatMap(resource =>
      (rule.apiGroups ?? []).map(group => ({
        part: {rule: {...rule, verbs: [verb], resources: [resource], apiGroups: [group]}, namespace},
        text: `${verb} ${resource}${group ? `.${group}` : ''}${namespace ? ` in ${namespace}` : ''}`,
      })),
    ),
  );

/** What a run requests, as the controller's own account and as the manager, whose informers all controllers share. */
const requestsOf = async (controller: Controller, account: string): Promise<{own: Attributes[]; shared: Attributes[]}> => {
  const own: Attributes[] = [];
  const shared: Attributes[] = [];
  const authorizer = {
    authorize(attributes: Attributes) {
      if (attributes.user.name === words.serviceAccountUser(words.systemNamespace, account)) own.push(attributes);
      else if (attributes.user.name === words.componentUser('controller-manager')) shared.push(attributes);
      return {decision: 'allow' as const};
    },
  };
  await play(controller, scenarios[controller.name.replace(/-controller$/, '')]!, planeKeys, undefined, {authorizer});
  return {own, shared};
};

const reads = new Set(['get', 'list', 'watch']);
const readable = ({rule}: Granted, {verb, resource}: Attributes): boolean =>
  reads.has(rule.verbs[0]!) &&
  reads.has(verb) &&
  allows({...rule, verbs: ['*'], resourceNames: []}, {verb, path: '', resource} as Attributes);

/** Permissions that admission plugins check, and those on a group of old objects: no request of a controller shows their use. */
const isUnseen = ({rule: {verbs, resources, apiGroups}}: Granted): boolean =>
  ['approve', 'attest', 'escalate', 'sign'].includes(verbs[0]!) ||
  /\/(finalizers|restricted)$/.test(resources![0]!) ||
  apiGroups![0] === 'extensions' ||
  resources![0] === 'events';

const accounts = [...new Set(controllers.flatMap(controller => serviceAccountOf(controller, words) ?? []))];

for (const account of accounts) {
  test.serial(`the role of ${account} suffices, and each of its rules is used`, async t => {
    const roles = rolesOf(account);
    const runs = [];
    for (const controller of controllers)
      if (serviceAccountOf(controller, words) === account) runs.push(await requestsOf(controller, account));
    const own = runs.flatMap(run => run.own);
    const shared = runs.flatMap(run => run.shared);
    const refused = own.filter(attributes => ![...roles, ...everybody].some(granted => isGranted(granted, attributes)));
    const idle = roles
      .flatMap(partsOf)
      .filter(({part}) => !isUnseen(part))
      .filter(({part}) => !own.some(attributes => isGranted(part, attributes)) && !shared.some(attributes => readable(part, attributes)))
      .map(({text}) => text);

    t.true(own.length > 0);
    t.deepEqual(
      refused.map(({verb, resource, path}) => `${verb} ${resource ? `${resource.resource}/${resource.subresource}` : path}`),
      [],
    );
    t.deepEqual(idle.sort(), [...(rulesOfOriginal[account] ?? [])].sort());
  });
}
