import test from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import type {PodSpec} from '#src/api/pod.js';
import {naming} from '#src/api/naming.js';
import {findings, inFull} from '#src/apiserver/admission/pod-security/evaluate.js';
import {policyIn, shownLevel, type Level} from '#src/apiserver/admission/pod-security/policy.js';
import {refusal, words} from '#test/resources/environment.js';
import {aPod, namespace, startWith} from '#test/apiserver/admission/context.js';

const violations = (level: Level, spec: Partial<PodSpec>, minor = Infinity, annotations: Record<string, string> = {}): string =>
  inFull(findings({level, minor}, {annotations, spec: {containers: [{name: 'c', image: 'i'}], ...spec}, naming: words}, 35));

const secured = (securityContext: object, more: object = {}): Partial<PodSpec> => ({
  containers: [{name: 'c', image: 'i', securityContext, ...more}],
});

const baseline: readonly [string, Partial<PodSpec>, string][] = [
  ['nothing', {}, ''],
  ['host namespaces', {hostNetwork: true, hostPID: true, hostIPC: true}, 'host namespaces (hostNetwork=true, hostPID=true, hostIPC=true)'],
  [
    'host paths',
    {
      volumes: [
        {name: 'v', hostPath: {path: '/'}},
        {name: 'w', hostPath: {path: '/'}},
      ],
    },
    'hostPath volumes (volumes "v", "w")',
  ],
  ['privileged', secured({privileged: true}), 'privileged (container "c" must not set securityContext.privileged=true)'],
  [
    'capabilities',
    secured({capabilities: {add: ['SYS_ADMIN', 'CHOWN', 'NET_RAW']}}),
    'non-default capabilities (container "c" must not include "NET_RAW", "SYS_ADMIN" in securityContext.capabilities.add)',
  ],
  [
    'host ports',
    {containers: [{name: 'c', image: 'i', ports: [{containerPort: 1, hostPort: 80}]}]},
    'hostPort (container "c" uses hostPort 80)',
  ],
  [
    'probe hosts',
    {containers: [{name: 'c', image: 'i', livenessProbe: {httpGet: {host: 'h', port: 1}}}]},
    'probe or lifecycle host (container "c" uses probe or lifecycle host "h")',
  ],
  [
    'AppArmor',
    secured({appArmorProfile: {type: 'Unconfined'}}),
    'forbidden AppArmor profile (container "c" must not set AppArmor profile type to "Unconfined")',
  ],
  [
    'seccomp',
    {securityContext: {seccompProfile: {type: 'Unconfined'}}},
    'seccompProfile (pod must not set securityContext.seccompProfile.type to "Unconfined")',
  ],
  [
    'SELinux',
    secured({seLinuxOptions: {type: 'x', user: 'u', role: 'r'}}),
    'seLinuxOptions (container "c" set forbidden securityContext.seLinuxOptions: type "x"; user may not be set; role may not be set)',
  ],
  [
    'sysctls',
    {
      securityContext: {
        sysctls: [
          {name: 'a', value: '1'},
          {name: 'net.ipv4.tcp_rmem', value: '1'},
        ],
      },
    },
    'forbidden sysctls (a)',
  ],
  ['proc mounts', secured({procMount: 'Unmasked'}), 'procMount (container "c" must not set securityContext.procMount to "Unmasked")'],
  [
    'processes of a Windows host',
    {securityContext: {windowsOptions: {hostProcess: true}}},
    'hostProcess (pod must not set securityContext.windowsOptions.hostProcess=true)',
  ],
];
for (const [title, spec, expected] of baseline) {
  test(`the baseline level on ${title}`, t => {
    t.is(violations('baseline', spec), expected);
    t.is(violations('privileged', spec), '');
  });
}

const hardened = {
  allowPrivilegeEscalation: false,
  capabilities: {drop: ['ALL']},
  runAsNonRoot: true,
  seccompProfile: {type: 'RuntimeDefault'},
};
const restricted: readonly [string, Partial<PodSpec>, string][] = [
  ['a hardened pod', secured(hardened), ''],
  [
    'a plain pod',
    {},
    'allowPrivilegeEscalation != false (container "c" must set securityContext.allowPrivilegeEscalation=false), ' +
      'unrestricted capabilities (container "c" must set securityContext.capabilities.drop=["ALL"]), ' +
      'runAsNonRoot != true (pod or container "c" must set securityContext.runAsNonRoot=true), ' +
      'seccompProfile (pod or container "c" must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost")',
  ],
  [
    'volumes',
    {
      ...secured(hardened),
      volumes: [
        {name: 'v', hostPath: {path: '/'}},
        {name: 'n', nfs: {server: 's', path: '/'}},
        {name: 'e', emptyDir: {}},
      ],
    },
    'restricted volume types (volumes "v", "n" use restricted volume types "hostPath", "nfs")',
  ],
  [
    'root',
    secured({...hardened, runAsUser: 0, runAsNonRoot: false}),
    'runAsNonRoot != true (container "c" must not set securityContext.runAsNonRoot=false), runAsUser=0 (container "c" must not set runAsUser=0)',
  ],
  ['root in a user namespace', {...secured({...hardened, runAsUser: 0, runAsNonRoot: false}), hostUsers: false}, ''],
  [
    'added capabilities',
    secured({...hardened, capabilities: {drop: ['ALL'], add: ['NET_BIND_SERVICE', 'CHOWN']}}),
    'unrestricted capabilities (container "c" must not include "CHOWN" in securityContext.capabilities.add)',
  ],
];
for (const [title, spec, expected] of restricted)
  test(`the restricted level on ${title}`, t => t.is(violations('restricted', spec), expected));

test('a level is evaluated as in its pinned version', t => {
  t.is(violations('restricted', {}, 7), 'runAsNonRoot != true (pod or container "c" must set securityContext.runAsNonRoot=true)');
  t.is(
    violations('baseline', {securityContext: {sysctls: [{name: 'net.ipv4.tcp_rmem', value: '1'}]}}, 31),
    'forbidden sysctls (net.ipv4.tcp_rmem)',
  );
  t.is(
    violations('baseline', {}, 18, {'seccomp.security.alpha.plat.io/pod': 'unconfined'}),
    'seccompProfile (forbidden annotation seccomp.security.alpha.plat.io/pod="unconfined")',
  );
  t.regex(violations('restricted', {os: {name: 'windows'}}, 24), /^allowPrivilegeEscalation/);
  t.is(violations('restricted', {os: {name: 'windows'}, securityContext: {runAsNonRoot: true}}), '');
});

test('invalid labels enforce the strictest level, and enforced violations are warned of', t => {
  const read = (labels: Record<string, string>) =>
    policyIn(
      Object.fromEntries(Object.entries(labels).map(([key, value]) => [`pod-security.kubernetes.io/${key}`, value])),
      naming('kubernetes'),
    );
  const shown = (labels: Record<string, string>) => Object.values(read(labels).policy).map(shownLevel);

  t.deepEqual(shown({}), ['privileged:latest', 'privileged:latest', 'privileged:latest']);
  t.deepEqual(shown({enforce: 'baseline', 'enforce-version': 'v1.30'}), ['baseline:v1.30', 'privileged:latest', 'baseline:v1.30']);
  t.deepEqual(shown({enforce: 'baseline', warn: 'privileged'}), ['baseline:latest', 'privileged:latest', 'privileged:latest']);
  t.deepEqual(shown({enforce: 'x', audit: 'y', warn: 'z'}), ['restricted:latest', 'privileged:latest', 'privileged:latest']);
  t.deepEqual(
    read({enforce: 'x', 'warn-version': '1'}).errors.map(({path, detail}) => `${path}: ${detail}`),
    [
      'metadata.labels[pod-security.kubernetes.io/enforce]: Invalid value: "x": must be one of privileged, baseline, restricted',
      'metadata.labels[pod-security.kubernetes.io/warn-version]: Invalid value: "1": must be "latest" or "v1.x"',
    ],
  );
});

const label = (mode: string): string => `pod-security.plat.io/${mode}`;

test('a namespace that enforces a level lets no other pods in, and warns of workloads that would make them', async t => {
  const {of, pod, server} = await startWith('PodSecurity');
  const namespaces = of(kinds.namespaces);
  await pod({hostPID: true}, {name: 'early'});
  const send = async (method: string, url: string, value: object, contentType = 'application/json') =>
    server.handler({
      method,
      url,
      headers: {'content-type': contentType},
      caller: {user: {name: 'admin', groups: ['system:masters']}},
      remoteAddress: '',
      signal: new AbortController().signal,
      body: {kind: 'object', value},
    });
  const warnings = async (answer: ReturnType<typeof send>): Promise<unknown> => (await answer).headers['Warning'];

  t.deepEqual(
    await warnings(
      send('PATCH', '/api/v1/namespaces/default', {metadata: {labels: {[label('enforce')]: 'baseline'}}}, 'application/merge-patch+json'),
    ),
    [
      String.raw`299 - "existing pods in namespace \"default\" violate the new PodSecurity enforce level \"baseline:latest\""`,
      '299 - "early: host namespaces"',
    ],
  );
  t.is(
    (await refusal(pod({hostPID: true}))).message,
    'pods "p" is forbidden: violates PodSecurity "baseline:latest": host namespaces (hostPID=true)',
  );
  t.is((await pod()).metadata!.name, 'p');
  t.is((await of(kinds.pods).patch('early', 'merge', {metadata: {labels: {a: 'b'}}}, {namespace})).metadata!.labels!['a'], 'b');
  const template = {metadata: {labels: {a: 'b'}}, spec: aPod({hostPID: true}).spec};
  t.deepEqual(
    await warnings(
      send('POST', '/apis/apps/v1/namespaces/default/deployments', {
        metadata: {name: 'd'},
        spec: {selector: {matchLabels: {a: 'b'}}, template},
      }),
    ),
    [String.raw`299 - "would violate PodSecurity \"baseline:latest\": host namespaces (hostPID=true)"`],
  );
  t.is((await refusal(namespaces.create({metadata: {name: 'odd', labels: {[label('audit')]: 'x'}}}))).code, 422);
});
