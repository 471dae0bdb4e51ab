import test from 'ava';
import {naming} from '#src/api/naming.js';
import {AnyKind, authenticating, customKind, defaulting, subresource, validating, webhookConfigurations} from '#src/operator/index.js';
import {ConfigMap, Namespace, Node, Pod} from '#src/operator/kinds.js';

const Backup = customKind({group: 'example.com', version: 'v1', kind: 'Backup', plural: 'backups'});
const service = {namespace: 'backups-system', name: 'backups'};

interface Configured {
  readonly webhooks: readonly Record<string, unknown>[];
}

/** The webhooks of all configurations of some handlers. */
const configuredBy = (options: Partial<Parameters<typeof webhookConfigurations>[0]>) =>
  (webhookConfigurations({name: 'backups', handlers: [], service, ...options}) as unknown as Configured[]).flatMap(
    ({webhooks}) => webhooks,
  );

test('the options of a handler are in its configuration', t => {
  const options = {
    namespaceSelector: {matchLabels: {team: 'a'}},
    objectSelector: {matchLabels: {size: 'large'}},
    matchConditions: [{name: 'named', expression: "object.metadata.name != ''"}],
    matchPolicy: 'Exact',
    sideEffects: 'NoneOnDryRun',
    failurePolicy: 'Ignore',
    timeoutSeconds: 3,
  } as const;
  const handlers = [
    defaulting(Backup, () => {}, {...options, operations: ['CREATE'], reinvocationPolicy: 'IfNeeded'}),
    validating(Backup, () => [], {...options, operations: ['DELETE']}),
  ];

  const rule = {apiGroups: ['example.com'], apiVersions: ['v1'], resources: ['backups']};
  const client = (path: string) => ({service: {port: 443, ...service, path}});
  t.deepEqual(configuredBy({handlers}), [
    {
      name: 'backups.backups.defaulting.example.com',
      clientConfig: client('/mutate-example-com-v1-backup'),
      rules: [{operations: ['CREATE'], ...rule}],
      ...options,
      reinvocationPolicy: 'IfNeeded',
      admissionReviewVersions: ['v1'],
    },
    {
      name: 'backups.backups.validating.example.com',
      clientConfig: client('/validate-example-com-v1-backup'),
      rules: [{operations: ['DELETE'], ...rule}],
      ...options,
      admissionReviewVersions: ['v1'],
    },
  ]);
});

test('a handler without options has those of the configuration', t => {
  const [webhook] = configuredBy({handlers: [validating(Backup, () => [])], failurePolicy: 'Ignore', timeoutSeconds: 2});

  t.deepEqual(webhook, {
    name: 'backups.backups.validating.example.com',
    clientConfig: {service: {port: 443, ...service, path: '/validate-example-com-v1-backup'}},
    rules: [{operations: ['CREATE', 'UPDATE'], apiGroups: ['example.com'], apiVersions: ['v1'], resources: ['backups']}],
    failurePolicy: 'Ignore',
    timeoutSeconds: 2,
    sideEffects: 'None',
    admissionReviewVersions: ['v1'],
  });
});

test('subresources, all kinds and named handlers have rules, names and paths of their own', t => {
  const none = () => [];
  const handlers = [
    validating(subresource(Pod, 'eviction'), none, {operations: ['CREATE']}),
    validating(subresource(AnyKind, 'status'), none),
    validating(subresource(Node, '*'), none),
    validating(AnyKind, none),
    validating(Backup, none, {name: 'size'}),
    authenticating(() => undefined),
  ];

  t.deepEqual(
    configuredBy({handlers}).map(({name, rules, clientConfig}) => {
      const [{apiGroups, apiVersions, resources}] = rules as [Record<string, string[]>];
      return [name, ...[apiGroups, apiVersions, resources].flat(), (clientConfig as {service: {path: string}}).service.path];
    }),
    [
      ['eviction.pods.backups.validating.core', '', 'v1', 'pods/eviction', '/validate--v1-pod-eviction'],
      ['status.any.backups.validating.any', '*', '*', '*/status', '/validate-any-status'],
      ['any.nodes.backups.validating.core', '', 'v1', 'nodes/*', '/validate--v1-node-any'],
      ['any.backups.validating.any', '*', '*', '*', '/validate-any'],
      ['size.backups.backups.validating.example.com', 'example.com', 'v1', 'backups', '/validate-example-com-v1-backup-size'],
    ],
  );
});

test('webhooks of pods, namespaces and all kinds leave out the namespaces that they need, unless told otherwise', t => {
  const leftOut = (options: Parameters<typeof configuredBy>[0]) => configuredBy(options).map(({namespaceSelector}) => namespaceSelector);
  const notIn = (values: string[], key = 'kubernetes.io/metadata.name') => ({matchExpressions: [{key, operator: 'NotIn', values}]});
  const none = () => [];
  const needed = ['kube-system', 'backups-system'];

  t.deepEqual(leftOut({handlers: [validating(Pod, none), validating(Namespace, none), validating(subresource(Pod, 'eviction'), none)]}), [
    notIn(needed),
    notIn(needed),
    notIn(needed),
  ]);
  t.deepEqual(leftOut({handlers: [defaulting(Pod, () => {})]}), [notIn(needed)]);
  t.deepEqual(leftOut({handlers: [validating(AnyKind, none)]}), [notIn(['kube-system', 'kube-node-lease', 'backups-system'])]);
  t.deepEqual(leftOut({handlers: [validating(Backup, none), validating(ConfigMap, none)]}), [undefined, undefined]);
  t.deepEqual(leftOut({handlers: [validating(Pod, none, {namespaceSelector: {}})]}), [{}]);
  t.deepEqual(leftOut({handlers: [validating(Pod, none)], namespace: 'other'}), [notIn(['kube-system', 'other'])]);
  t.deepEqual(leftOut({handlers: [validating(Pod, none)], service: {namespace: 'kube-system', name: 'a'}}), [notIn(['kube-system'])]);
  t.deepEqual(leftOut({handlers: [validating(Pod, none)], naming: naming('plat')}), [
    notIn(['plat-system', 'backups-system'], 'plat.io/metadata.name'),
  ]);
});

test('what an API server would refuse is refused where it is declared', t => {
  const none = () => [];
  const refused = (make: () => unknown, message: string) => t.throws(make, {instanceOf: TypeError, message});

  refused(() => validating(Pod, none, {timeoutSeconds: 31}), 'timeoutSeconds of a webhook must be a whole number from 1 to 30');
  refused(() => validating(Pod, none, {operations: []}), 'a webhook needs operations');
  refused(() => validating(Pod, none, {name: 'Not a name'}), 'name of a webhook "Not a name": use lower case letters, digits and -');
  refused(() => subresource(Pod, 'pods/status'), 'subresource "pods/status": use the name of a subresource, or *');
  const twice = [
    {name: 'a', expression: 'true'},
    {name: 'a', expression: 'false'},
  ];
  refused(() => defaulting(Pod, () => {}, {matchConditions: twice}), 'there are two match conditions named a');
  refused(
    () => configuredBy({handlers: [validating(Backup, none), validating(Backup, none)]}),
    'there are two webhooks named backups.backups.validating.example.com: give one of them the option name',
  );
});
