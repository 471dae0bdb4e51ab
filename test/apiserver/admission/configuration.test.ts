import test from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import {naming, type NamingName} from '#src/api/naming.js';
import type {Pod, Toleration} from '#src/api/pod.js';
import {readPluginTexts} from '#src/apiserver/admission/configuration/file.js';
import {readPluginSettings} from '#src/apiserver/admission/configuration/settings.js';
import {createPlugins} from '#src/apiserver/admission-plugins.js';
import {refusal, jane} from '#test/resources/environment.js';
import {aPluginContext, aPod, namespace, startWith} from './context.js';

/** The settings of plugins from files at these paths. */
const settingsIn = (files: Readonly<Record<string, string>>, name: NamingName = 'plat') => {
  const words = naming(name);
  const read = (path: string): string => {
    const found = files[path];
    if (found === undefined) throw new Error(`no file ${path}`);
    return found;
  };
  return readPluginSettings(readPluginTexts('/etc/admission.yaml', words, read), words);
};

const head = 'kind: AdmissionConfiguration\napiVersion: apiserver.config.plat.io/v1\n';
/** A configuration file for one plugin, as YAML in one line. */
const configured = (plugin: string, configuration: string) =>
  settingsIn({'/etc/admission.yaml': `${head}plugins: [{name: ${plugin}, configuration: ${configuration}}]`});
const limits = (text: string): string => `{kind: Configuration, apiVersion: eventratelimit.admission.plat.io/v1alpha1, limits: [${text}]}`;
const security = (text: string): string =>
  `{kind: PodSecurityConfiguration, apiVersion: pod-security.admission.config.plat.io/v1, ${text}}`;
const tolerated = (text: string): string =>
  `{kind: Configuration, apiVersion: podtolerationrestriction.admission.plat.io/v1alpha1, ${text}}`;

test('a plugin is configured inside the file, in a file beside it, or at an absolute path', t => {
  const selectors = 'podNodeSelectorPluginConfig: {clusterDefaultNodeSelector: "a=b", here: "c=d,e=f"}';
  const files = {
    '/etc/admission.yaml': `${head}plugins:\n- {name: PodNodeSelector, path: selectors.yaml}\n- {name: PodSecurity, path: /else/security.json}\n- name: EventRateLimit\n  path: unread\n  configuration: ${limits('{type: Server, qps: 5, burst: 6}')}\n- {name: EventRateLimit, path: unread}`,
    '/etc/selectors.yaml': selectors,
    '/else/security.json': JSON.stringify({
      kind: 'PodSecurityConfiguration',
      apiVersion: 'pod-security.admission.config.plat.io/v1beta1',
      defaults: {enforce: 'baseline', 'enforce-version': 'v1.30'},
    }),
  };
  const {nodeSelectors, podSecurity, eventLimits, tolerations, limitedResources} = settingsIn(files);

  t.deepEqual(nodeSelectors, {otherwise: {a: 'b'}, allowed: new Map([['here', {c: 'd', e: 'f'}]])});
  t.deepEqual(podSecurity?.defaults, {
    enforce: {level: 'baseline', minor: 30},
    warn: {level: 'privileged', minor: Infinity},
    audit: {level: 'privileged', minor: Infinity},
  });
  t.deepEqual(eventLimits, [{type: 'Server', qps: 5, burst: 6}]);
  t.is(tolerations, undefined);
  t.is(limitedResources, undefined);
  t.deepEqual(settingsIn({'/etc/admission.yaml': selectors}).nodeSelectors, nodeSelectors);
  t.deepEqual(settingsIn({'/etc/admission.yaml': head.replace('plat.io', 'k8s.io')}, 'kubernetes'), {
    eventLimits: undefined,
    podSecurity: undefined,
    nodeSelectors: undefined,
    tolerations: undefined,
    limitedResources: undefined,
    imagePolicy: undefined,
    mutatingWebhooks: undefined,
    validatingWebhooks: undefined,
  });
});

test('resources are limited to quotas under each name of the kind', t => {
  const scoped = 'limitedResources: [{resource: pods, matchScopes: [{scopeName: PriorityClass, operator: In, values: [high]}]}]';
  const wanted = [{resource: 'pods', matchScopes: [{scopeName: 'PriorityClass', operator: 'In', values: ['high']}]}];

  t.deepEqual(
    configured('ResourceQuota', `{kind: ResourceQuotaConfiguration, apiVersion: apiserver.config.plat.io/v1, ${scoped}}`).limitedResources,
    wanted,
  );
  t.deepEqual(
    configured('ResourceQuota', `{kind: Configuration, apiVersion: resourcequota.admission.plat.io/v1beta1, ${scoped}}`).limitedResources,
    wanted,
  );
});

test('webhook plugins read the kubeconfig of their calls under each name of the configuration kind', t => {
  const wanted = {kubeConfigFile: '/etc/users.yaml'};

  t.deepEqual(
    configured(
      'MutatingAdmissionWebhook',
      '{kind: WebhookAdmissionConfiguration, apiVersion: apiserver.config.plat.io/v1, kubeConfigFile: /etc/users.yaml}',
    ).mutatingWebhooks,
    wanted,
  );
  t.deepEqual(
    configured(
      'ValidatingAdmissionWebhook',
      '{kind: WebhookAdmission, apiVersion: apiserver.config.plat.io/v1alpha1, kubeConfigFile: /etc/users.yaml}',
    ).validatingWebhooks,
    wanted,
  );
});

for (const [what, file, message] of [
  ['is not there', undefined, 'no file /etc/admission.yaml'],
  ['has no kind', 'plugins: []', 'kind is missing: expected AdmissionConfiguration of apiserver.config.plat.io/v1'],
  [
    'has no version',
    'kind: AdmissionConfiguration',
    'apiVersion is missing: expected AdmissionConfiguration of apiserver.config.plat.io/v1',
  ],
  [
    'is of the other naming',
    head.replace('plat.io', 'k8s.io'),
    'no kind "AdmissionConfiguration" is registered for version "apiserver.config.k8s.io/v1": expected AdmissionConfiguration of apiserver.config.plat.io/v1',
  ],
  ['has an unknown field', `${head}plugin: []`, 'strict decoding error: unknown field "plugin"'],
  ['has a field of the wrong type', `${head}plugins: x`, /cannot unmarshal string into Go struct field .*plugins/],
  ['names a file that is not there', `${head}plugins: [{name: PodSecurity, path: none}]`, 'PodSecurity: no file /etc/none'],
] as const) {
  test(`a configuration of plugins that ${what} is refused`, t => {
    t.throws(() => settingsIn(file === undefined ? {} : {'/etc/admission.yaml': file}), {message});
  });
}

for (const [plugin, configuration, message] of [
  ['EventRateLimit', limits(''), 'limits: Invalid value: null: must not be empty'],
  ['ImagePolicyWebhook', '{imagePolicy: {}}', 'imagePolicy.kubeConfigFile: Required value'],
  [
    'ImagePolicyWebhook',
    '{imagePolicy: {kubeConfigFile: f, allowTTL: 3600, denyTTL: -2, retryBackoff: 300001}}',
    '[imagePolicy.allowTTL: Invalid value: 3600: valid value is between 1s and 30m0s, got 1h0m0s, imagePolicy.denyTTL: Invalid value: -2: valid value is between 1s and 30m0s, got -2s, imagePolicy.retryBackoff: Invalid value: 300001: valid value is between 1ns and 5m0s, got 5m0.001s]',
  ],
  [
    'EventRateLimit',
    limits('{type: Sever, qps: 1, burst: 1}'),
    'limits[0].type: Unsupported value: "Sever": supported values: "Namespace", "Server", "SourceAndObject", "User"',
  ],
  [
    'EventRateLimit',
    limits('{type: User, qps: 0, burst: -1, cacheSize: -1}'),
    '[limits[0].burst: Invalid value: -1: must be positive, limits[0].qps: Invalid value: 0: must be positive, limits[0].cacheSize: Invalid value: -1: must not be negative]',
  ],
  [
    'EventRateLimit',
    '{kind: Configuration, apiVersion: eventratelimit.admission.plat.io/v2}',
    'no kind "Configuration" is registered for version "eventratelimit.admission.plat.io/v2": expected Configuration of eventratelimit.admission.plat.io/v1alpha1',
  ],
  [
    'PodSecurity',
    security('defaults: {enforce: strict, warn-version: "1.2"}'),
    '[defaults.enforce: Invalid value: "strict": must be one of privileged, baseline, restricted, defaults.warn-version: Invalid value: "1.2": must be "latest" or "v1.x"]',
  ],
  [
    'PodSecurity',
    security('exemptions: {usernames: [""], namespaces: [a, a], runtimeClasses: [a_b]}'),
    /^PodSecurity: \[exemptions\.namespaces\[1\]: Duplicate value: "a", exemptions\.runtimeClasses\[0\]: Invalid value: "a_b": .*exemptions\.usernames\[0\]: Invalid value: "": username must not be empty\]$/,
  ],
  ['PodSecurity', security('default: {}'), 'strict decoding error: unknown field "default"'],
  [
    'PodNodeSelector',
    '{podNodeSelectorPluginConfig: {here: a}}',
    'podNodeSelectorPluginConfig[here]: Invalid value: "a": invalid selector: [a]',
  ],
  [
    'PodTolerationRestriction',
    tolerated('default: [{key: a, operator: Is}]'),
    'podtolerationrestriction.configuration.default[0].operator: Unsupported value: "Is": supported values: "Equal", "Exists"',
  ],
  [
    'ValidatingAdmissionWebhook',
    '{kind: WebhookAdmissionConfiguration, apiVersion: apiserver.config.plat.io/v1, kubeConfigFile: users}',
    'kubeConfigFile: Invalid value: "users": must be an absolute file path',
  ],
  [
    'MutatingAdmissionWebhook',
    '{kind: WebhookAdmission, apiVersion: apiserver.config.plat.io/v1alpha1}',
    'kubeConfigFile: Invalid value: "": must be an absolute file path',
  ],
  [
    'ResourceQuota',
    '{kind: ResourceQuotaConfiguration, apiVersion: apiserver.config.plat.io/v1, limitedResources: [{}]}',
    'limitedResources[0].resource: Required value',
  ],
] as const) {
  test(`a configuration of ${plugin} is refused: ${configuration}`, t => {
    t.throws(() => configured(plugin, configuration), {message: typeof message === 'string' ? `${plugin}: ${message}` : message});
  });
}

test('the configuration of image reviews has no kind, and durations have defaults', t => {
  const defaults = {kubeConfigFile: 'f', allowTtlMs: 300_000, denyTtlMs: 30_000, retryBackoffMs: 500, defaultAllow: false};
  const whole = {
    '/etc/admission.yaml': 'imagePolicy: {kubeConfigFile: f, allowTTL: 1800, denyTTL: -1, retryBackoff: 7, defaultAllow: true}',
  };

  t.deepEqual(configured('ImagePolicyWebhook', '{imagePolicy: {kubeConfigFile: f, denyTTL: 0}}').imagePolicy, defaults);
  t.deepEqual(settingsIn(whole).imagePolicy, {...defaults, allowTtlMs: 1_800_000, denyTtlMs: 0, retryBackoffMs: 7, defaultAllow: true});
});

test('event rates are limited as configured', async t => {
  const {of} = await startWith(
    'EventRateLimit',
    configured('EventRateLimit', limits('{type: User, qps: 1, burst: 1}, {type: SourceAndObject, qps: 1, burst: 2, cacheSize: 1}')),
  );
  const event = (name: string, about: string, user = jane) =>
    of(kinds.coreEvents, user).create({
      metadata: {name, namespace},
      involvedObject: {kind: 'Pod', namespace, name: about},
      reason: 'r',
      type: 'Normal',
    });
  await event('e1', 'a');

  t.like(await refusal(event('e2', 'a')), {code: 429, message: 'limit reached on type User for key jane'});
  t.like(await refusal(event('e3', 'a', {...jane, name: 'joe'})), {
    code: 429,
    message: `limit reached on type SourceAndObject for key Pod${namespace}a`,
  });
  await event('e4', 'b', {...jane, name: 'jim'});
  await event('e5', 'a', {...jane, name: 'jack'});
});

const warningsOf = async (env: Awaited<ReturnType<typeof startWith>>, method: string, url: string, value: object): Promise<unknown> => {
  const contentType = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
  const answer = await env.server.handler({
    method,
    url,
    headers: {'content-type': contentType},
    caller: {user: jane},
    remoteAddress: '',
    signal: new AbortController().signal,
    body: {kind: 'object', value},
  });
  return answer.headers['Warning'];
};

test('a default level applies where a namespace has no label', async t => {
  const env = await startWith('PodSecurity', configured('PodSecurity', security('defaults: {enforce: baseline, warn: restricted}')));

  t.regex((await refusal(env.pod({hostPID: true}))).message ?? '', /violates PodSecurity "baseline:latest"/);
  t.regex(
    String(await warningsOf(env, 'POST', '/api/v1/namespaces/default/pods', aPod())),
    /would violate PodSecurity \\"restricted:latest\\"/,
  );
  await env.of(kinds.namespaces).patch(namespace, 'merge', {metadata: {labels: {'pod-security.plat.io/enforce': 'privileged'}}});
  t.is((await env.pod({hostPID: true}, {name: 'q'})).metadata!.name, 'q');
});

test('namespaces, users and runtime classes are exempt as configured', async t => {
  const exemptions = security(
    'defaults: {enforce: baseline, audit: baseline}, exemptions: {usernames: [root], namespaces: [lax], runtimeClasses: [vm]}',
  );
  const notes: string[] = [];
  const env = await startWith('PodSecurity', configured('PodSecurity', exemptions));
  await env.of(kinds.namespaces).create({metadata: {name: 'lax'}});
  const bad = {hostPID: true};

  t.is((await refusal(env.pod(bad))).code, 403);
  t.is((await env.of(kinds.pods).create(aPod(bad, {namespace: 'lax'}))).metadata!.name, 'p');
  t.is((await env.of(kinds.pods, {...jane, name: 'root'}).create(aPod(bad, {name: 'q'}))).metadata!.name, 'q');
  t.is((await env.pod({...bad, runtimeClassName: 'vm'}, {name: 'r'})).metadata!.name, 'r');
  const {validate} = createPlugins(
    {enable: [], disable: [], exactly: ['PodSecurity']},
    aPluginContext({...configured('PodSecurity', exemptions), findNamespace: () => ({})}),
  )[0]!;
  const attributes = {
    operation: 'CREATE',
    group: '',
    version: 'v1',
    resource: 'pods',
    subresource: '',
    kind: 'Pod',
    namespaced: true,
    dryRun: false,
    warn() {},
    annotate: (key: string, text: string) => void notes.push(`${key}=${text}`),
  } as const;
  const note = async (in_: string, name: string, object: Pod) =>
    validate!({...attributes, namespace: in_, name: 'p', object, user: {...jane, name}});
  await note('lax', 'root', aPod(bad));
  await note(namespace, 'root', aPod(bad));
  await note(namespace, 'jane', aPod({...bad, runtimeClassName: 'vm'}));
  t.deepEqual(
    notes,
    ['namespace', 'user', 'runtimeClass'].map(why => `pod-security.plat.io/exempt=${why}`),
  );
});

test('labels of an exempt namespace are warned of as having no effect', async t => {
  const env = await startWith(
    'PodSecurity',
    configured('PodSecurity', security('exemptions: {namespaces: [lax, default], runtimeClasses: [vm]}')),
  );
  const labels = (level: string) => ({'pod-security.plat.io/enforce': level, 'pod-security.plat.io/audit-version': 'v1.30'});
  const ignored = (name: string) => [
    String.raw`299 - "namespace \"${name}\" is exempt from Pod Security, and the policy (enforce=baseline:latest) will be ignored"`,
  ];
  await env.pod({hostPID: true});

  t.deepEqual(await warningsOf(env, 'POST', '/api/v1/namespaces', {metadata: {name: 'lax', labels: labels('baseline')}}), ignored('lax'));
  t.deepEqual(await warningsOf(env, 'PATCH', '/api/v1/namespaces/default', {metadata: {labels: labels('baseline')}}), ignored('default'));
  t.is(await warningsOf(env, 'PATCH', '/api/v1/namespaces/lax', {metadata: {labels: {a: 'b'}}}), undefined);
});

test('pods of a runtime class that is left alone are not warned of', async t => {
  const env = await startWith('PodSecurity', configured('PodSecurity', security('exemptions: {runtimeClasses: [vm]}')));
  await env.pod({hostPID: true, runtimeClassName: 'vm'});

  t.is(
    await warningsOf(env, 'PATCH', '/api/v1/namespaces/default', {metadata: {labels: {'pod-security.plat.io/enforce': 'baseline'}}}),
    undefined,
  );
});

test('pods get the node selector of the configuration unless their namespace has one, and stay within the whitelist', async t => {
  const env = await startWith(
    'PodNodeSelector',
    configured('PodNodeSelector', '{podNodeSelectorPluginConfig: {clusterDefaultNodeSelector: "disk=fast", default: "disk=fast,zone=z"}}'),
  );

  t.deepEqual((await env.pod()).spec!.nodeSelector, {disk: 'fast'});
  t.deepEqual((await env.pod({nodeSelector: {zone: 'z'}}, {name: 'q'})).spec!.nodeSelector, {disk: 'fast', zone: 'z'});
  t.is(
    (await refusal(env.pod({nodeSelector: {disk: 'slow'}}, {name: 'r'}))).message,
    'pods "r" is forbidden: pod node label selector conflicts with its namespace node label selector',
  );
  t.is(
    (await refusal(env.pod({nodeSelector: {own: 'x'}}, {name: 'r'}))).message,
    'pods "r" is forbidden: pod node label selector labels conflict with its namespace whitelist',
  );
  await env.of(kinds.namespaces).patch(namespace, 'merge', {metadata: {annotations: {'scheduler.alpha.plat.io/node-selector': ''}}});
  t.is((await env.pod({}, {name: 's'})).spec!.nodeSelector, undefined);
});

test('pods get the tolerations of the configuration unless their namespace has some', async t => {
  const env = await startWith(
    'PodTolerationRestriction',
    configured(
      'PodTolerationRestriction',
      tolerated('default: [{key: a, operator: Exists, effect: NoSchedule}], whitelist: [{key: a, operator: Exists}]'),
    ),
  );
  const b: Toleration[] = [{key: 'b', operator: 'Exists'}];
  const given = async (annotations: Record<string, string>) =>
    env.of(kinds.namespaces).patch(namespace, 'merge', {metadata: {annotations}});

  t.deepEqual((await env.pod()).spec!.tolerations, [{key: 'a', operator: 'Exists', effect: 'NoSchedule'}]);
  t.is(
    (await refusal(env.pod({tolerations: b}, {name: 'q'}))).message,
    'pod tolerations (possibly merged with namespace default tolerations) conflict with its cluster whitelist',
  );
  await given({'scheduler.alpha.plat.io/defaultTolerations': '', 'scheduler.alpha.plat.io/tolerationsWhitelist': JSON.stringify(b)});
  t.deepEqual((await env.pod({tolerations: b}, {name: 'q'})).spec!.tolerations, b);
  t.is(
    (await refusal(env.pod({tolerations: [{key: 'a', operator: 'Exists'}]}, {name: 'r'}))).message,
    'pod tolerations (possibly merged with namespace default tolerations) conflict with its namespace whitelist',
  );
});
