import {kinds} from '#src/api/kinds/index.js';
import type {Node} from '#src/api/types.js';
import type {UserInfo} from '#src/api/user.js';
import {systemClock} from '#src/base/clock.js';
import {noLog} from '#src/base/log.js';
import {naming} from '#src/api/naming.js';
import {seededRandom} from '#src/base/random.js';
import {openReviewWebhook} from '#src/apiserver/backends/review-webhook.js';
import {settingsFor} from '#test/apiserver/authorization/environment.js';
import {json, startWebhook} from '#test/apiserver/webhook-server.js';
import {namespace} from '#test/apiserver/admission/context.js';
import type {Row} from './row.js';

const resources = (cpu: string) => ({containers: [{name: 'c', image: 'i', resources: {requests: {cpu}, limits: {cpu}}}]});
const required = (topologyKey: string) => ({
  affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey, labelSelector: {}}]}},
});
const me: UserInfo = {name: 'system:node:me', groups: ['system:nodes', 'system:authenticated']};

/** A server of image reviews that refuses `bad`, and lives as long as the test. */
export const reviewer = async () => {
  const webhook = await startWebhook(({body}, response) => {
    const {spec} = JSON.parse(body) as {spec: {containers: {image: string}[]}};
    json(response, {status: {allowed: spec.containers.every(({image}) => image !== 'bad')}});
  });
  const calls = await openReviewWebhook(
    {file: settingsFor(webhook), flag: '--f', timeoutMs: 5000, firstWaitMs: 1},
    {naming: naming('plat'), clock: systemClock, random: seededRandom(1), log: noLog},
  );
  return {
    webhook: calls,
    async [Symbol.asyncDispose]() {
      await calls[Symbol.asyncDispose]();
      await webhook.close();
    },
  };
};

/** The rows of the plugins for pods and nodes. */
export const podRows = (images: Awaited<ReturnType<typeof reviewer>>) =>
  ({
    AlwaysPullImages: {
      admits: [async ({pod}) => (await pod({}, {name: 'a'})).metadata?.name, 'a'],
      changes: [
        async ({pod}) =>
          (await pod({containers: [{name: 'c', image: 'i', imagePullPolicy: 'Never'}]})).spec?.containers?.[0]?.imagePullPolicy,
        'Always',
      ],
    },
    DefaultTolerationSeconds: {
      admits: [async ({pod}) => (await pod({tolerations: [{operator: 'Exists'}]}, {name: 'a'})).spec?.tolerations?.length, 1],
      changes: [
        async ({pod}) => (await pod()).spec?.tolerations?.map(({key, tolerationSeconds}) => [key, tolerationSeconds]),
        [
          ['node.plat.io/not-ready', 300],
          ['node.plat.io/unreachable', 300],
        ],
      ],
    },
    ExtendedResourceToleration: {
      admits: [async ({pod}) => (await pod(resources('1'), {name: 'a'})).spec?.tolerations],
      changes: [
        async ({pod}) =>
          (
            await pod({
              containers: [{name: 'c', image: 'i', resources: {limits: {'example.com/gpu': '1'}, requests: {'example.com/gpu': '1'}}}],
            })
          ).spec?.tolerations,
        [{key: 'example.com/gpu', operator: 'Exists', effect: 'NoSchedule'}],
      ],
    },
    ImagePolicyWebhook: {
      own: {imageReviews: {webhook: images.webhook, allowTtlMs: 0, denyTtlMs: 0, defaultAllow: false}},
      admits: [({pod}) => pod({}, {name: 'a'})],
      refuses: [
        ({pod}) => pod({containers: [{name: 'c', image: 'bad'}]}),
        'pods "p" is forbidden: one or more images rejected by webhook backend',
      ],
    },
    LimitPodHardAntiAffinityTopology: {
      admits: [({pod}) => pod(required('plat.io/hostname'), {name: 'a'})],
      refuses: [
        ({pod}) => pod(required('zone')),
        'pods "p" is forbidden: affinity.PodAntiAffinity.RequiredDuringScheduling has TopologyKey zone but only key plat.io/hostname is allowed',
      ],
    },
    LimitRanger: {
      setup: ({of}) =>
        of(kinds.limitRanges).create({
          metadata: {name: 'range', namespace},
          spec: {limits: [{type: 'Container', max: {cpu: '1'}, default: {memory: '1Gi'}}]},
        }),
      admits: [({pod}) => pod(resources('1'), {name: 'a'})],
      refuses: [({pod}) => pod(resources('2')), 'pods "p" is forbidden: maximum cpu usage per Container is 1, but limit is 2'],
      changes: [async ({pod}) => (await pod(resources('1'))).spec?.containers?.[0]?.resources?.limits?.['memory'], '1Gi'],
    },
    NodeDeclaredFeatureValidator: {
      async setup({of, pod}) {
        await of(kinds.nodes).create({metadata: {name: 'n'}});
        const both = {requests: {cpu: '1', memory: '1Gi'}, limits: {cpu: '1', memory: '1Gi'}};
        await pod({nodeName: 'n', containers: [{name: 'c', image: 'i', resources: both}]});
      },
      admits: [({of}) => of(kinds.pods).patch('p', 'merge', {metadata: {labels: {a: 'b'}}}, {namespace})],
      refuses: [
        ({of}) => of(kinds.pods).patch('p', 'strategic', {spec: resources('2')}, {namespace, subresource: 'resize'}),
        'pods "p" is forbidden: pod update requires features GuaranteedQoSPodCPUResize which are not available on node "n"',
      ],
    },
    NodeRestriction: {
      setup: async ({of}) => {
        for (const name of ['me', 'you']) await of(kinds.nodes).create({metadata: {name}});
      },
      admits: [({of}) => of(kinds.nodes, me).patch('me', 'merge', {metadata: {annotations: {a: 'b'}}})],
      refuses: [
        ({of}) => of(kinds.nodes, me).patch('you', 'merge', {metadata: {annotations: {a: 'b'}}}),
        'nodes "you" is forbidden: node "me" is not allowed to modify node "you"',
      ],
    },
    PodNodeSelector: {
      own: {nodeSelectors: {otherwise: {pool: 'a'}, allowed: new Map()}},
      admits: [({pod}) => pod({nodeSelector: {pool: 'a'}}, {name: 'a'})],
      refuses: [
        ({pod}) => pod({nodeSelector: {pool: 'b'}}),
        'pods "p" is forbidden: pod node label selector conflicts with its namespace node label selector',
      ],
      changes: [async ({pod}) => (await pod()).spec?.nodeSelector, {pool: 'a'}],
    },
    PodSecurity: {
      setup: ({of}) => of(kinds.namespaces).patch('default', 'merge', {metadata: {labels: {'pod-security.plat.io/enforce': 'baseline'}}}),
      admits: [({pod}) => pod({}, {name: 'a'})],
      refuses: [
        ({pod}) => pod({hostPID: true}),
        'pods "p" is forbidden: violates PodSecurity "baseline:latest": host namespaces (hostPID=true)',
      ],
    },
    PodTolerationRestriction: {
      own: {tolerations: {given: [], allowed: [{key: 'a', operator: 'Exists'}]}},
      admits: [({pod}) => pod({tolerations: [{key: 'a', operator: 'Exists'}]}, {name: 'a'})],
      refuses: [
        ({pod}) => pod({tolerations: [{key: 'b', operator: 'Exists'}]}),
        'pod tolerations (possibly merged with namespace default tolerations) conflict with its cluster whitelist',
      ],
    },
    PodTopologyLabels: {
      setup: ({of}) => of(kinds.nodes).create({metadata: {name: 'n', labels: {'topology.plat.io/zone': 'z', other: 'x'}}}),
      admits: [async ({pod}) => (await pod({}, {name: 'a'})).metadata?.labels],
      changes: [async ({pod}) => (await pod({nodeName: 'n'})).metadata?.labels, {'topology.plat.io/zone': 'z'}],
    },
    Priority: {
      setup: ({of}) => of(kinds.priorityClasses).create({metadata: {name: 'high'}, value: 7}),
      admits: [async ({pod}) => (await pod({priorityClassName: 'high'}, {name: 'a'})).spec?.priority, 7],
      refuses: [({pod}) => pod({priorityClassName: 'none'}), 'pods "p" is forbidden: no PriorityClass with name none was found'],
    },
    RuntimeClass: {
      setup: ({of}) => of(kinds.runtimeClasses).create({metadata: {name: 'vm'}, handler: 'vm', overhead: {podFixed: {cpu: '1'}}}),
      admits: [({pod}) => pod({}, {name: 'a'})],
      refuses: [({pod}) => pod({runtimeClassName: 'none'}), 'pods "p" is forbidden: pod rejected: RuntimeClass "none" not found'],
      changes: [async ({pod}) => (await pod({runtimeClassName: 'vm'})).spec?.overhead, {cpu: '1'}],
    },
    ServiceAccount: {
      setup: ({of}) => of(kinds.serviceAccounts).create({metadata: {name: 'default', namespace}}),
      admits: [async ({pod}) => (await pod({automountServiceAccountToken: false}, {name: 'a'})).spec?.volumes],
      refuses: [
        ({pod}) => pod({serviceAccountName: 'none'}),
        'pods "p" is forbidden: error looking up service account default/none: serviceaccount "none" not found',
      ],
      changes: [async ({pod}) => (await pod()).spec?.serviceAccountName, 'default'],
    },
    TaintNodesByCondition: {
      admits: [async ({of}) => ((await of(kinds.configMaps).create({metadata: {name: 'a', namespace}})) as Node).spec],
      changes: [
        async ({of}) => (await of(kinds.nodes).create({metadata: {name: 'n'}})).spec?.taints,
        [{key: 'node.plat.io/not-ready', effect: 'NoSchedule'}],
      ],
    },
  }) satisfies Record<string, Row>;
