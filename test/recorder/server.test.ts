import {mkdtempSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import {once} from 'node:events';
import type {IncomingMessage} from 'node:http';
import {request} from 'node:https';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import test from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import type {UserInfo} from '#src/api/user.js';
import {startPlane, type Plane} from '#src/plane/plane.js';
import type {AdmissionRecord, RecordPage} from '#src/recorder/records.js';
import {startWebhook} from '#test/apiserver/webhook-server.js';

const admin: UserInfo = {name: 'admin', groups: ['system:masters', 'system:authenticated']};
const folder = mkdtempSync(join(tmpdir(), 'plat-recorder-'));
const auditLog = join(folder, 'audit.log');
const policy = join(folder, 'policy.yaml');
writeFileSync(policy, '{kind: Policy, apiVersion: audit.k8s.io/v1, rules: [{level: Metadata, nonResourceURLs: ["/recorder/*"]}]}');

let plane: Plane;
test.before(async () => {
  const flags = ['--service-account-issuer=https://plat.test', `--audit-policy-file=${policy}`, `--audit-log-path=${auditLog}`];
  const apiserverArgs = [
    ...flags,
    '--runtime-config=admissionregistration.k8s.io/v1beta1=true',
    '--feature-gates=MutatingAdmissionPolicy=true',
  ];
  plane = await startPlane({naming: 'kubernetes', controllers: 'none', apiserverArgs});
});
test.after.always(async () => {
  await plane.stop();
  rmSync(folder, {recursive: true, force: true});
});

const get = (path: string): Promise<unknown> => plane.api.clientAs(admin).request('GET', path);

test('which webhooks and policies changed an object is recorded', async t => {
  const client = plane.client();
  const patch = Buffer.from(JSON.stringify([{op: 'add', path: '/metadata/labels', value: {by: 'webhook'}}])).toString('base64');
  await using webhook = await startWebhook(({body}, response) => {
    const {uid} = (JSON.parse(body) as {request: {uid: string}}).request;
    const answer = {
      apiVersion: 'admission.k8s.io/v1',
      kind: 'AdmissionReview',
      response: {uid, allowed: true, patchType: 'JSONPatch', patch},
    };
    response.writeHead(200, {'Content-Type': 'application/json'}).end(JSON.stringify(answer));
  });
  const rules = [{apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE' as const], resources: ['configmaps']}];
  const objectSelector = {matchExpressions: [{key: 'by', operator: 'DoesNotExist'}]};
  await client.create(kinds.mutatingWebhookConfigurations, {
    metadata: {name: 'labels'},
    webhooks: [
      {
        name: 'labels.test.io',
        admissionReviewVersions: ['v1'],
        sideEffects: 'None',
        clientConfig: {url: webhook.url, caBundle: webhook.caBundle},
        rules,
        objectSelector,
      },
    ],
  });
  await client.create(kinds.mutatingAdmissionPolicies, {
    metadata: {name: 'greets'},
    spec: {
      matchConstraints: {resourceRules: rules},
      failurePolicy: 'Fail',
      reinvocationPolicy: 'Never',
      mutations: [{patchType: 'ApplyConfiguration', applyConfiguration: {expression: 'Object{data: {"greeting": "hello"}}'}}],
    },
  } as never);
  await client.create(kinds.mutatingAdmissionPolicyBindings, {metadata: {name: 'greets'}, spec: {policyName: 'greets'}} as never);
  const created = await client.create(kinds.configMaps, {metadata: {namespace: 'default', name: 'changed'}});
  const {records} = (await get('/recorder/v1/records?kind=admission&name=changed')) as RecordPage;

  t.like(created, {metadata: {labels: {by: 'webhook'}}, data: {greeting: 'hello'}});
  t.deepEqual(
    (records as readonly AdmissionRecord[]).map(({plugin, phase, decision, by}) => ({plugin, phase, decision, by})),
    [
      {plugin: 'MutatingAdmissionPolicy', phase: 'admit', decision: 'changed', by: 'greets'},
      {plugin: 'MutatingAdmissionWebhook', phase: 'admit', decision: 'changed', by: 'labels.test.io'},
    ],
  );
});

test('a stream of records is audited when it starts, and has no seat while it lasts', async t => {
  const rules = [{nonResourceURLs: ['/recorder/v1/*'], verbs: ['get']}];
  const roleRef = {apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'reads'};
  await plane.client().create(kinds.clusterRoles, {metadata: {name: 'reads'}, rules});
  await plane.client().create(kinds.clusterRoleBindings, {
    metadata: {name: 'reads'},
    roleRef,
    subjects: [{kind: 'User', name: 'reader', apiGroup: 'rbac.authorization.k8s.io'}],
  });
  const pem = (name: string) => Buffer.from(new RegExp(`${name}: (\\S+)`).exec(plane.kubeconfig)![1]!, 'base64');
  const sent = request(`${plane.url}/recorder/v1/records?watch=1`, {
    ca: pem('certificate-authority-data'),
    cert: pem('client-certificate-data'),
    key: pem('client-key-data'),
    headers: {'Impersonate-User': 'reader', 'Impersonate-Group': 'system:authenticated'},
  }).end();
  t.teardown(() => sent.destroy());
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  await once(response, 'data');
  const stages = () =>
    readFileSync(auditLog, 'utf8')
      .split('\n')
      .filter(line => line.includes('watch=1'))
      .map(line => (JSON.parse(line) as {stage: string}).stage);
  const metrics = (await get('/metrics')) as string;
  const executing = [...metrics.matchAll(/^apiserver_flowcontrol_current_executing_requests\{(.*)\} (\d+)$/gm)]
    .filter(([, labels]) => !labels!.includes('exempt'))
    .map(([, , count]) => Number(count));

  t.is(response.statusCode, 200);
  t.deepEqual(stages(), ['RequestReceived', 'ResponseStarted']);
  t.true(executing.length > 0 && executing.every(count => count === 0), executing.join());
});
