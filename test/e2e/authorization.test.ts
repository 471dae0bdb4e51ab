import {mkdtempSync, readFileSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import test from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import {startPlane} from '#src/plane/plane.js';
import type {RecordedEvent} from '#test/apiserver/audit/environment.js';
import {aFile, aReviewer, settingsFor} from '#test/apiserver/authorization/environment.js';
import {hasKubectl, Kubectl} from './kubectl.js';

const abac = JSON.stringify({
  apiVersion: 'abac.authorization.kubernetes.io/v1beta1',
  kind: 'Policy',
  spec: {user: 'jane', namespace: 'default', resource: 'configmaps', apiGroup: '', readonly: true},
});

(hasKubectl(28) ? test : test.skip)(
  'kubectl auth can-i asks RBAC, a policy file and a webhook, whose reasons are in the audit log',
  async t => {
    const directory = mkdtempSync(join(tmpdir(), 'plat-e2e-'));
    t.teardown(() => rmSync(directory, {recursive: true, force: true}));
    await using webhook = await aReviewer(({spec: {user, resourceAttributes: {verb, resource, name} = {}}}) =>
      user === 'jane' && resource === 'secrets'
        ? {allowed: verb === 'get', denied: verb !== 'get', reason: `${name} by the hook`}
        : {allowed: false},
    );
    const log = join(directory, 'audit.log');
    const plane = await startPlane({
      naming: 'kubernetes',
      controllerManagerArgs: ['--controllers='],
      apiserverArgs: [
        '--authorization-mode=RBAC,ABAC,Webhook',
        `--authorization-policy-file=${aFile(abac)}`,
        `--authorization-webhook-config-file=${settingsFor(webhook)}`,
        '--authorization-webhook-version=v1',
        `--token-auth-file=${aFile('secret-of-jane,jane,7,dev\n')}`,
        `--audit-policy-file=${aFile('{apiVersion: audit.k8s.io/v1, kind: Policy, rules: [{level: Metadata, users: [jane]}]}')}`,
        `--audit-log-path=${log}`,
      ],
    });
    const client = plane.client();
    await client.resource(kinds.roles).create({
      metadata: {name: 'reader', namespace: 'default'},
      rules: [{apiGroups: [''], resources: ['pods'], verbs: ['list']}],
    });
    await client.resource(kinds.roleBindings).create({
      metadata: {name: 'jane-reads', namespace: 'default'},
      roleRef: {apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'reader'},
      subjects: [{kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: 'jane'}],
    });
    await client.resource(kinds.secrets).create({metadata: {name: 's', namespace: 'default'}});
    using kubectl = new Kubectl(join(directory, 'none'));
    const asJane = (words: string) =>
      kubectl.run([...words.split(' '), `--server=${plane.url}`, '--insecure-skip-tls-verify', '--token=secret-of-jane']);
    const canI = async (words: string): Promise<string> => (await asJane(`auth can-i ${words}`)).stdout.split('\n')[0]!;

    t.is(await canI('list pods'), 'yes');
    t.is(await canI('delete pods'), 'no - No policy matched.');
    t.is(await canI('get configmaps'), 'yes');
    t.is(await canI('create configmaps'), 'no - No policy matched.');
    t.is(await canI('get secrets/s'), 'yes');
    t.regex(await canI('delete secrets/s'), /^no - s by the hook$/);
    const list = await asJane('auth can-i --list');
    t.regex(list.stdout, /^pods +\[\] +\[\] +\[list\]$/m);
    t.regex(list.stdout, /^configmaps +\[\] +\[\] +\[get list watch\]$/m);
    t.regex(list.stderr, /incomplete.*webhook authorizer does not support user rule resolution/);
    const local = await client.resource(kinds.localSubjectAccessReviews).create({
      metadata: {namespace: 'default'},
      spec: {user: 'jane', resourceAttributes: {namespace: 'default', verb: 'get', resource: 'secrets', name: 's'}},
    });
    t.deepEqual(local.status, {allowed: true, reason: 's by the hook'});

    for (const words of ['get pods', 'get configmaps', 'get secret s', 'delete secret s']) await asJane(words);
    await plane.stop();
    const events = readFileSync(log, 'utf8')
      .split('\n')
      .filter(Boolean)
      .map(line => JSON.parse(line) as RecordedEvent)
      .filter(
        ({stage, objectRef}) => stage === 'ResponseComplete' && ['pods', 'configmaps', 'secrets'].includes(objectRef?.['resource'] ?? ''),
      );
    const [decision, reason] = ['authorization.k8s.io/decision', 'authorization.k8s.io/reason'];
    t.deepEqual(
      events.map(({verb, annotations = {}}) => [verb, annotations[decision], annotations[reason]]),
      [
        ['list', 'allow', 'RBAC: allowed by RoleBinding "jane-reads/default" of Role "reader" to User "jane"'],
        ['list', 'allow', ''],
        ['get', 'allow', 's by the hook'],
        ['delete', 'forbid', 's by the hook'],
      ],
    );
  },
);
