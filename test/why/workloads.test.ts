import test from 'ava';
import {aTemplate, kinds, Situations} from './situations.js';

const at = await Situations.start(
  [
    'deployment-controller',
    'replicaset-controller',
    'statefulset-controller',
    'daemonset-controller',
    'resourcequota-controller',
    'node-lifecycle-controller',
    'disruption-controller',
    'horizontal-pod-autoscaler-controller',
  ],
  {nodes: 1, metricsApi: false},
);
test.after.always(() => at[Symbol.asyncDispose]());

const [seconds, minutes] = [1_000, 60_000];
const selector = (app: string) => ({matchLabels: {app}});

/** Replaces what the names of pods and replica sets end with. */
const plain = ([answer, ends]: readonly [string, string | undefined]) =>
  [answer, ends].map(text =>
    text
      ?.replaceAll(/([a-z]+)-[bcdfghjklmnpqrstvwxz2456789]{6,10}-[bcdfghjklmnpqrstvwxz2456789]{5}/g, '$1-HASH-ID')
      .replaceAll(/([a-z]+)-(?=[a-z0-9]*\d)[bcdfghjklmnpqrstvwxz2456789]{8,10}\b/g, '$1-HASH')
      .replaceAll(/([a-z]+)-[bcdfghjklmnpqrstvwxz2456789]{5}\b/g, '$1-ID'),
  );

const aNamespace = async (name: string, labels: Record<string, string> = {}) => {
  await at.create(kinds.namespaces, {metadata: {name, labels}});
  await at.plane.clock.drain();
};

test.serial('a deployment waits for the image of the pod of its newest replica set', async t => {
  await at.create(kinds.deployments, {
    metadata: {name: 'image'},
    spec: {replicas: 2, selector: selector('image'), template: aTemplate('image')},
  });
  await at.plane.clock.advance(10 * seconds);
  await at.patch(kinds.deployments, 'image', {spec: {template: {spec: {containers: [{name: 'app', image: 'web:404'}]}}}});
  await at.plane.clock.advance(30 * seconds);

  t.deepEqual(plain(await at.answer(kinds.deployments, 'image')), [
    'Deployment default/image is blocked by Pod default/image-HASH-ID: the image web:404 of its container app cannot be pulled: failed to pull and unpack image "docker.io/library/web:404": failed to resolve reference "docker.io/library/web:404": docker.io/library/web:404: not found.',
    'An image of this name in the registry, or the credentials for it (imagePullSecrets); the agent tries again, at most five minutes later.',
  ]);
  t.deepEqual(
    (await at.why(kinds.deployments, 'image')).chain.map(({object, rule}) => `${object.kind} ${rule}`),
    ['Deployment rollout', 'ReplicaSet replicas', 'Pod image-pull'],
  );
});

test.serial('a deployment that makes no progress within its time says so on the way', async t => {
  await at.create(kinds.deployments, {
    metadata: {name: 'late'},
    spec: {
      progressDeadlineSeconds: 30,
      selector: selector('late'),
      template: aTemplate('late', {
        behavior: '{readyAfter: never}',
        containers: [{name: 'app', image: 'web', readinessProbe: {httpGet: {path: '/', port: 80}}}],
      }),
    },
  });
  await at.plane.clock.advance(minutes);

  t.deepEqual(plain(await at.answer(kinds.deployments, 'late')), [
    'Deployment default/late is blocked by Pod default/late-HASH-ID: its container app runs and is not ready, as its readiness probe has not succeeded.',
    'A program that answers the probe, or another readinessProbe.',
  ]);
  t.is(
    (await at.why(kinds.deployments, 'late')).chain[0]?.sentence,
    '0 of 1 replicas of its newest template are available, without progress for more than 30 s',
  );
});

test.serial('a paused deployment waits for whoever resumes it', async t => {
  await at.create(kinds.deployments, {
    metadata: {name: 'paused'},
    spec: {paused: true, selector: selector('paused'), template: aTemplate('paused')},
  });

  t.deepEqual(await at.answer(kinds.deployments, 'paused', 5 * seconds), [
    'Deployment default/paused is blocked: it is paused, with 0 of 1 replicas of its newest template.',
    'kubectl rollout resume deployment paused -n default',
  ]);
});

test.serial('a deployment whose pods exceed a quota waits for the quota', async t => {
  await aNamespace('small');
  await at.create(kinds.resourceQuotas, {metadata: {name: 'pods', namespace: 'small'}, spec: {hard: {pods: '1'}}});
  await at.plane.clock.advance(5 * seconds);
  await at.create(kinds.deployments, {
    metadata: {name: 'web', namespace: 'small'},
    spec: {replicas: 2, selector: selector('web'), template: aTemplate('web')},
  });
  await at.plane.clock.advance(20 * seconds);

  t.deepEqual(await at.answer(kinds.deployments, 'web', 0, 'small'), [
    'Deployment small/web is blocked by ResourceQuota small/pods: it is used up: 1 of 1 pods.',
    'A higher spec.hard, or the end of other objects in the namespace small.',
  ]);
  t.is(
    (await at.why(kinds.deployments, 'web', {namespace: 'small'})).chain[1]?.sentence,
    'the resource quota pods refuses its pods: pods=1 is asked for, pods=1 is used, and the limit is pods=1',
  );
});

test.serial('a deployment whose pods a webhook has to see waits for the service of the webhook', async t => {
  await aNamespace('seen');
  const webhook = {
    name: 'pods.example.com',
    clientConfig: {service: {name: 'checker', namespace: 'tools'}, caBundle: ''},
    rules: [{apiGroups: [''], apiVersions: ['v1'], resources: ['pods'], operations: ['CREATE']}],
    namespaceSelector: {matchLabels: {'kubernetes.io/metadata.name': 'seen'}},
    sideEffects: 'None',
    admissionReviewVersions: ['v1'],
  };
  await at.create(kinds.validatingWebhookConfigurations, {metadata: {name: 'checks'}, webhooks: [webhook]});
  await at.plane.clock.advance(2 * seconds);
  await at.create(kinds.deployments, {
    metadata: {name: 'web', namespace: 'seen'},
    spec: {selector: selector('web'), template: aTemplate('web')},
  });

  t.deepEqual(await at.answer(kinds.deployments, 'web', 20 * seconds, 'seen'), [
    'Deployment seen/web is blocked by ValidatingWebhookConfiguration checks: its webhook pods.example.com (failurePolicy Fail) is behind the service tools/checker, which does not exist.',
    'The creation of the service tools/checker with what serves the webhook, or the deletion of the webhook.',
  ]);
  t.deepEqual(
    (await at.why(kinds.deployments, 'web', {namespace: 'seen'})).chain.map(({object}) => object.kind),
    ['Deployment', 'ReplicaSet', 'ValidatingWebhookConfiguration'],
  );
});

test.serial('a deployment whose service account is missing waits for it', async t => {
  await at.create(kinds.deployments, {
    metadata: {name: 'account'},
    spec: {selector: selector('account'), template: aTemplate('account', {serviceAccountName: 'robot'})},
  });

  t.deepEqual(plain(await at.answer(kinds.deployments, 'account', 10 * seconds)), [
    'Deployment default/account is blocked by ReplicaSet default/account-HASH: its pods run as the service account robot, which does not exist.',
    'The creation of the service account robot in the namespace default.',
  ]);
});

test.serial('a deployment whose pods break the rules of their namespace waits for other pods', async t => {
  await aNamespace('strict', {'pod-security.kubernetes.io/enforce': 'restricted'});
  await at.create(kinds.deployments, {
    metadata: {name: 'web', namespace: 'strict'},
    spec: {selector: selector('web'), template: aTemplate('web', {hostNetwork: true})},
  });

  t.deepEqual(plain(await at.answer(kinds.deployments, 'web', 10 * seconds, 'strict')), [
    'Deployment strict/web is blocked by ReplicaSet strict/web-HASH: the namespace strict admits pods of the level restricted:latest only: host namespaces (hostNetwork=true), allowPrivilegeEscalation != false (container "app" must set securityContext.allowPrivilegeEscalation=false), unrestricted capabilities (container "app" must set securityContext.capabilities.drop=["ALL"]), runAsNonRoot != true (pod or container "app" must set securityContext.runAsNonRoot=true), seccompProfile (pod or container "app" must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost").',
    'A securityContext in its template that keeps to the level, or another level in the labels of the namespace.',
  ]);
});

test.serial('a stateful set waits for the lowest pod that is not ready', async t => {
  const template = aTemplate('db', {
    behavior: '{readyAfter: never}',
    containers: [{name: 'app', image: 'db', readinessProbe: {tcpSocket: {port: 5432}}}],
  });
  await at.create(kinds.statefulSets, {metadata: {name: 'db'}, spec: {replicas: 3, serviceName: 'db', selector: selector('db'), template}});

  t.deepEqual(await at.answer(kinds.statefulSets, 'db', 30 * seconds), [
    'StatefulSet default/db is blocked by Pod default/db-0: its container app runs and is not ready, as its readiness probe has not succeeded.',
    'A program that answers the probe, or another readinessProbe.',
  ]);
  t.is(
    (await at.why(kinds.statefulSets, 'db')).chain[0]?.sentence,
    '0 of 3 replicas are available: the pod db-0 is not ready, and the pods 1 to 2 come after it',
  );
});

test.serial('a stateful set with a partition keeps pods at the old template', async t => {
  await at.create(kinds.statefulSets, {
    metadata: {name: 'part'},
    spec: {
      replicas: 2,
      serviceName: 'part',
      selector: selector('part'),
      template: aTemplate('part'),
      updateStrategy: {type: 'RollingUpdate', rollingUpdate: {partition: 1}},
    },
  });
  await at.plane.clock.advance(30 * seconds);
  await at.patch(kinds.statefulSets, 'part', {spec: {template: {metadata: {labels: {app: 'part', version: '2'}}}}});

  t.deepEqual(await at.answer(kinds.statefulSets, 'part', minutes), [
    'StatefulSet default/part is blocked: 1 of 2 pods are of its newest template, and its partition keeps those below 1 at the old one.',
    'A lower spec.updateStrategy.rollingUpdate.partition.',
  ]);
});

test.serial('a daemon set names the node on which its pod is not ready', async t => {
  await at.create(kinds.daemonSets, {
    metadata: {name: 'agent'},
    spec: {selector: selector('agent'), template: aTemplate('agent', {behavior: '{runFor: 1s, exitCode: 1}'})},
  });

  t.deepEqual(plain(await at.answer(kinds.daemonSets, 'agent', 20 * seconds)), [
    'DaemonSet default/agent is blocked by Pod default/agent-ID: its container app ends again and again, the last time with code 1 (Error), and has restarted twice.',
    'A program that keeps running: kubectl logs agent-ID -n default -c app --previous. The agent starts it again at 2026-01-01T00:05:26Z.',
  ]);
  t.is(
    (await at.why(kinds.daemonSets, 'agent')).chain[0]?.sentence,
    'its pods are available on 0 of 1 nodes, and on plat-node-0 it is not',
  );
});

test.serial('a daemon set that matches no node says so', async t => {
  await at.create(kinds.daemonSets, {
    metadata: {name: 'nowhere'},
    spec: {selector: selector('nowhere'), template: aTemplate('nowhere', {nodeSelector: {disk: 'fast'}})},
  });

  t.deepEqual(await at.answer(kinds.daemonSets, 'nowhere', 5 * seconds), [
    'DaemonSet default/nowhere is blocked: its node selector and its tolerations match none of the nodes (1).',
    'A node with the labels that its template asks for, and without taints that it does not tolerate.',
  ]);
});

test.serial('an autoscaler without metrics waits for a metrics server', async t => {
  await at.create(kinds.horizontalPodAutoscalers, {
    metadata: {name: 'image'},
    spec: {scaleTargetRef: {apiVersion: 'apps/v1', kind: 'Deployment', name: 'image'}, maxReplicas: 5},
  });

  t.deepEqual(await at.answer(kinds.horizontalPodAutoscalers, 'image', minutes), [
    'HorizontalPodAutoscaler default/image is blocked: it has no metrics, as no server of v1beta1.metrics.k8s.io is there (FailedGetResourceMetric).',
    'A metrics server, which registers the APIService v1beta1.metrics.k8s.io.',
  ]);
});

test.serial('an autoscaler whose target does not exist waits for it', async t => {
  await at.create(kinds.horizontalPodAutoscalers, {
    metadata: {name: 'lost'},
    spec: {scaleTargetRef: {apiVersion: 'apps/v1', kind: 'Deployment', name: 'lost'}, maxReplicas: 5},
  });

  t.deepEqual(await at.answer(kinds.horizontalPodAutoscalers, 'lost', minutes), [
    'HorizontalPodAutoscaler default/lost is blocked: it cannot scale Deployment lost: FailedGetScale: the HPA controller was unable to get the target\'s current scale: deployments.apps "lost" not found.',
    'A target that can be scaled; it is tried again every 15 s.',
  ]);
});

test.serial('a budget that asks for all pods never allows an eviction, and holds up the drain of a node', async t => {
  await at.create(kinds.deployments, {metadata: {name: 'held'}, spec: {selector: selector('held'), template: aTemplate('held')}});
  await at.create(kinds.podDisruptionBudgets, {metadata: {name: 'held'}, spec: {minAvailable: 1, selector: selector('held')}});

  t.deepEqual(await at.answer(kinds.podDisruptionBudgets, 'held', 20 * seconds), [
    'PodDisruptionBudget default/held is blocked: it never allows an eviction, as minAvailable 1 asks for all of its pods (1).',
    'More pods than it asks for, or another budget.',
  ]);
  await at.patch(kinds.nodes, 'plat-node-0', {spec: {unschedulable: true}});
  t.deepEqual(await at.answer(kinds.nodes, 'plat-node-0'), [
    'Node plat-node-0 is blocked by PodDisruptionBudget default/held: it never allows an eviction, as minAvailable 1 asks for all of its pods (1).',
    'More pods than it asks for, or another budget.',
  ]);
  await at.patch(kinds.nodes, 'plat-node-0', {spec: {unschedulable: null}});
});

test.serial('a budget waits for the pod that is not ready', async t => {
  await at.create(kinds.podDisruptionBudgets, {metadata: {name: 'db'}, spec: {minAvailable: '50%', selector: selector('db')}});

  t.deepEqual(await at.answer(kinds.podDisruptionBudgets, 'db', 10 * seconds), [
    'PodDisruptionBudget default/db is blocked by Pod default/db-0: its container app runs and is not ready, as its readiness probe has not succeeded.',
    'A program that answers the probe, or another readinessProbe.',
  ]);
});

test.serial('workloads that are complete wait for nothing', async t => {
  t.deepEqual(await at.answer(kinds.deployments, 'held'), [
    'Deployment default/held waits for nothing: all its replicas (1) are updated and available, and its controller has seen generation 1.',
    undefined,
  ]);
});
