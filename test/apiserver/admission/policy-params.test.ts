import test from 'ava';
import {kinds, type Kind} from '#src/api/kinds/index.js';
import {refusal} from '#test/resources/environment.js';
import {configMaps, startPolicyEnvironment, type ValidatingSpec} from './policy-environment.js';
import {by} from './policy-denials.js';

interface ParamCase {
  readonly title: string;
  readonly kind?: ValidatingSpec['paramKind'];
  readonly ref: object;
  /** The outcome of the request with `data.a` 1: nothing where it is allowed. */
  readonly message?: string;
}

const ofDefault = {apiVersion: 'v1', kind: 'ConfigMap'};
const notFound = 'failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction';
const paramCases: readonly ParamCase[] = [
  {
    title: 'by name in the namespace of the request',
    kind: ofDefault,
    ref: {name: 'limits', parameterNotFoundAction: 'Deny'},
    message: 'max is 0',
  },
  {title: 'by name in another namespace', kind: ofDefault, ref: {name: 'limits', namespace: 'other', parameterNotFoundAction: 'Deny'}},
  {title: 'that are missing and must not be', kind: ofDefault, ref: {name: 'missing', parameterNotFoundAction: 'Deny'}, message: notFound},
  {title: 'that are missing and may be', kind: ofDefault, ref: {name: 'missing', parameterNotFoundAction: 'Allow'}},
  {
    title: 'by a selector, of which each counts',
    kind: ofDefault,
    ref: {selector: {matchLabels: {limits: 'yes'}}, parameterNotFoundAction: 'Deny'},
    message: 'max is 0',
  },
  {
    title: 'by a selector that chooses nothing',
    kind: ofDefault,
    ref: {selector: {matchLabels: {limits: 'no'}}, parameterNotFoundAction: 'Deny'},
    message: notFound,
  },
  {
    title: 'of a kind for the whole cluster',
    kind: {apiVersion: 'v1', kind: 'Namespace'},
    ref: {name: 'other', parameterNotFoundAction: 'Deny'},
    message: 'max is 0',
  },
  {
    title: 'of a kind for the whole cluster in a namespace',
    kind: {apiVersion: 'v1', kind: 'Namespace'},
    ref: {name: 'other', namespace: 'default', parameterNotFoundAction: 'Deny'},
    message: 'failed to configure binding: paramRef.namespace must not be provided for a cluster-scoped `paramKind`',
  },
];

for (const {title, kind, ref, message} of paramCases) {
  test(`parameters ${title}`, async t => {
    const env = await startPolicyEnvironment();
    await env.of(kinds.namespaces).create({metadata: {name: 'other', annotations: {max: '0'}}});
    await env.configMap('limits', {max: '0'}, {labels: {limits: 'yes'}});
    await env.configMap('wide', {max: '9'}, {labels: {limits: 'yes'}});
    await env.of(kinds.configMaps).create({metadata: {name: 'limits', namespace: 'other'}, data: {max: '9'}});
    const max = 'has(params.data) ? params.data.max : params.metadata.annotations.max';
    await env.validating(
      {
        ...(kind && {paramKind: kind}),
        variables: [{name: 'max', expression: max}],
        validations: [{expression: 'int(object.data.a) <= int(variables.max)', messageExpression: '"max is " + variables.max'}],
      },
      {paramRef: ref as never},
    );

    const made = env.configMap('c', {a: '1'});
    if (message === undefined) await t.notThrowsAsync(made);
    else t.is((await refusal(made)).message, `configmaps "c" is forbidden: ${by(message)}`);
  });
}

test('parameters come in the version that the policy names, with kind and apiVersion, and are null where a binding has none', async t => {
  const env = await startPolicyEnvironment();
  await env.of(kinds.horizontalPodAutoscalers).create({
    metadata: {name: 'h', namespace: 'default'},
    spec: {
      maxReplicas: 3,
      scaleTargetRef: {apiVersion: 'apps/v1', kind: 'Deployment', name: 'x'},
      metrics: [{type: 'Resource', resource: {name: 'cpu', target: {type: 'Utilization', averageUtilization: 70}}}],
    },
  });
  await env.validating(
    {
      paramKind: {apiVersion: 'autoscaling/v1', kind: 'HorizontalPodAutoscaler'},
      validations: [
        {
          expression:
            'params.apiVersion == "autoscaling/v1" && params.kind == "HorizontalPodAutoscaler" && params.spec.targetCPUUtilizationPercentage == 70',
        },
      ],
    },
    {paramRef: {name: 'h', parameterNotFoundAction: 'Deny'}},
  );
  await t.notThrowsAsync(env.configMap('c'));
  await env.bind('none');
  t.regex((await refusal(env.configMap('d'))).message!, /with binding 'none' denied request: .* no such key: apiVersion|no such overload/);
});

test('a kind of parameters that is not served is a matter of the failure policy', async t => {
  const env = await startPolicyEnvironment();
  await env.validating(
    {paramKind: {apiVersion: 'example.com/v1', kind: 'Limit'}, validations: [{expression: 'true'}]},
    {paramRef: {name: 'x', parameterNotFoundAction: 'Allow'}},
  );

  t.is(
    (await refusal(env.configMap('c'))).message,
    `configmaps "c" is forbidden: ValidatingAdmissionPolicy 'p' denied request: failed to configure policy: failed to find resource referenced by paramKind: 'example.com/v1, Kind=Limit'`,
  );
});

test('a binding narrows the match of a policy', async t => {
  const env = await startPolicyEnvironment();
  await env.of(kinds.namespaces).create({metadata: {name: 'free', labels: {free: 'yes'}}});
  await env.validating(
    {validations: [{expression: 'false'}]},
    {
      matchResources: {
        namespaceSelector: {matchExpressions: [{key: 'free', operator: 'DoesNotExist'}]},
        objectSelector: {matchExpressions: [{key: 'free', operator: 'DoesNotExist'}]},
        excludeResourceRules: [
          {operations: ['*'], apiGroups: [''], apiVersions: ['v1'], resources: ['configmaps'], resourceNames: ['free']},
        ],
      },
    },
  );

  await t.notThrowsAsync(env.of(kinds.configMaps).create({metadata: {name: 'c', namespace: 'free'}}));
  await t.notThrowsAsync(env.configMap('c', {}, {labels: {free: ''}}));
  await t.notThrowsAsync(env.configMap('free'));
  await t.throwsAsync(env.configMap('d'));
});

test('an expression reads objects in the version that the policy matches, whichever version was sent', async t => {
  const env = await startPolicyEnvironment();
  await env.validating({
    matchConstraints: {
      resourceRules: [{operations: ['CREATE'], apiGroups: ['autoscaling'], apiVersions: ['v1'], resources: ['horizontalpodautoscalers']}],
    },
    validations: [
      {
        expression:
          'object.apiVersion == "autoscaling/v1" && object.spec.targetCPUUtilizationPercentage == 70 && request.resource.version == "v1" && request.requestResource.version == "v2"',
      },
    ],
    matchConditions: [{name: 'c', expression: 'request.resource.version == "v2" && object.apiVersion == "autoscaling/v1"'}],
  });
  const autoscaler = (name: string, averageUtilization: number) => ({
    metadata: {name, namespace: 'default'},
    spec: {
      maxReplicas: 3,
      scaleTargetRef: {apiVersion: 'apps/v1', kind: 'Deployment', name: 'x'},
      metrics: [{type: 'Resource', resource: {name: 'cpu', target: {type: 'Utilization', averageUtilization}}}],
    },
  });

  await t.notThrowsAsync(env.of(kinds.horizontalPodAutoscalers).create(autoscaler('a', 70)));
  await t.throwsAsync(env.of(kinds.horizontalPodAutoscalers).create(autoscaler('b', 71)));
});

test('policies are evaluated in the order of their names, and so are bindings; the first denial is returned', async t => {
  const env = await startPolicyEnvironment();
  await env.validating({validations: [{expression: 'false'}]}, null, 'q');
  await env.validating(
    {
      validations: [
        {expression: 'false', message: 'first'},
        {expression: 'false', message: 'second'},
      ],
    },
    null,
    'p',
  );
  await env.bind('a', {policyName: 'q'});
  await env.bind('c', {policyName: 'p'});
  await env.bind('b', {policyName: 'p'});

  t.is((await refusal(env.configMap('c'))).message, `configmaps "c" is forbidden: ${by('first')}`);
});

test('policies do not apply to policies, bindings and reviews', async t => {
  const env = await startPolicyEnvironment();
  await env.validating({
    matchConstraints: {resourceRules: [{operations: ['*'], apiGroups: ['*'], apiVersions: ['*'], resources: ['*/*']}]},
    validations: [{expression: 'false'}],
  });

  await t.throwsAsync(env.configMap('c'));
  await t.notThrowsAsync(env.of(kinds.selfSubjectAccessReviews).create({spec: {nonResourceAttributes: {path: '/', verb: 'get'}}} as never));
  await t.notThrowsAsync(env.of(kinds.selfSubjectReviews).create({} as never));
  await t.notThrowsAsync(
    env.validating({validations: [{expression: 'true'}]}, {}, 'other').catch(() => env.bind('other', {policyName: 'other'})),
  );
  await t.notThrowsAsync(env.of(kinds.validatingAdmissionPolicies as Kind, env.admin).delete('p'));
});

test('namespaces have no namespace of their own, and other objects have', async t => {
  const env = await startPolicyEnvironment();
  await env.validating({
    matchConstraints: {
      resourceRules: [
        ...configMaps.resourceRules!,
        {operations: ['CREATE'], apiGroups: [''], apiVersions: ['v1'], resources: ['namespaces', 'nodes']},
      ],
    },
    validations: [
      {expression: '(namespaceObject == null) == (request.kind.kind != "ConfigMap")'},
      {expression: 'request.kind.kind != "Namespace" || request.namespace == request.name'},
    ],
  });

  await t.notThrowsAsync(env.configMap('c'));
  await t.notThrowsAsync(env.of(kinds.namespaces).create({metadata: {name: 'other'}}));
  await t.notThrowsAsync(env.of(kinds.nodes).create({metadata: {name: 'n'}}));
});
