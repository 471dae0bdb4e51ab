import test from 'ava';
import {kinds, type ObjectOf} from '#src/api/kinds/index.js';
import {aPlane} from './plane.js';

type Spec = NonNullable<ObjectOf<typeof kinds.validatingAdmissionPolicies>['spec']>;

const about = (apiGroups: string[], apiVersions: string[], ...resources: string[]): NonNullable<Spec['matchConstraints']> => ({
  resourceRules: [{operations: ['CREATE'], apiGroups, apiVersions, resources}],
});
const deployments = about(['apps'], ['v1'], 'deployments');

interface Case {
  readonly title: string;
  readonly spec: Spec;
  /** The warnings by field; none where there is nothing to warn of. */
  readonly warnings?: Readonly<Record<string, RegExp>>;
}

const cases: readonly Case[] = [
  {
    title: 'what fits',
    spec: {
      matchConstraints: deployments,
      validations: [
        {
          expression: 'object.spec.replicas > 1 && oldObject.metadata.name == object.metadata.name',
          messageExpression: '"no: " + object.metadata.name',
        },
      ],
    },
  },
  {
    title: 'a field that is not there',
    spec: {
      matchConstraints: deployments,
      validations: [{expression: 'object.spec.foo > 1'}, {expression: 'true', messageExpression: 'string(object.bar)'}],
    },
    warnings: {
      'spec.validations[0].expression':
        /^apps\/v1, Kind=Deployment: ERROR: <input>:1:12: undefined field 'foo'\n \| object\.spec\.foo > 1\n \| \.{11}\^\n$/,
      'spec.validations[1].messageExpression': /undefined field 'bar'/,
    },
  },
  {
    title: 'a value of the wrong type',
    spec: {matchConstraints: deployments, validations: [{expression: 'object.spec.replicas > "1"'}]},
    warnings: {'spec.validations[0].expression': /found no matching overload for '_>_' applied to '\(int, string\)'/},
  },
  {
    title: 'one of several kinds that it does not fit',
    spec: {
      matchConstraints: about(['apps'], ['v1'], 'replicasets', 'daemonsets', 'deployments/status'),
      validations: [{expression: 'object.spec.replicas > 1'}],
    },
    warnings: {'spec.validations[0].expression': /^apps\/v1, Kind=DaemonSet: ERROR: [^]*undefined field 'replicas'[^]*\n$/},
  },
  {
    title: 'kinds that are not known',
    spec: {matchConstraints: about(['example.com'], ['v1'], 'widgets'), validations: [{expression: 'object.foo == 1'}]},
  },
  {
    title: 'kinds that a wildcard names',
    spec: {matchConstraints: about(['*'], ['v1'], 'deployments'), validations: [{expression: 'object.foo == 1'}]},
  },
  {
    title: 'variables, of which each has the type of its expression',
    spec: {
      matchConstraints: deployments,
      variables: [{name: 'n', expression: 'object.spec.replicas'}],
      validations: [{expression: 'variables.n == "1"'}, {expression: 'variables.n == 1'}],
    },
    warnings: {'spec.validations[0].expression': /applied to '\(int, string\)'/},
  },
  {
    title: 'parameters of a kind that is known',
    spec: {
      matchConstraints: deployments,
      paramKind: {apiVersion: 'v1', kind: 'ConfigMap'},
      validations: [{expression: 'params.data["a"] == "b"'}, {expression: 'params.spec.a == "b"'}],
    },
    warnings: {'spec.validations[1].expression': /undefined field 'spec'/},
  },
  {
    title: 'parameters of a kind that is not',
    spec: {
      matchConstraints: deployments,
      paramKind: {apiVersion: 'example.com/v1', kind: 'Limit'},
      validations: [{expression: 'params.anything == object.spec.replicas'}],
    },
    warnings: {'spec.validations[0].expression': /undeclared reference to 'params'/},
  },
  {
    title: 'requests, namespaces and the authorizer',
    spec: {
      matchConstraints: deployments,
      validations: [{expression: 'request.name == namespaceObject.metadata.name && authorizer.path("/").check("get").allowed()'}],
    },
  },
  {
    title: 'a quantity, of which nothing is known',
    spec: {matchConstraints: about([''], ['v1'], 'pods'), validations: [{expression: 'object.spec.containers.all(c, has(c.image))'}]},
  },
];

test('the status of a policy lists expressions that do not type-check with the kinds it names', async t => {
  await using plane = await aPlane({controllers: ['validatingadmissionpolicy-status-controller']});
  const policies = plane.client().resource(kinds.validatingAdmissionPolicies);
  for (const [index, {spec}] of cases.entries()) await policies.create({metadata: {name: `p${index}`}, spec});
  await plane.clock.drain();

  for (const [index, {title, warnings = {}}] of cases.entries()) {
    const {metadata, status} = await policies.get(`p${index}`);
    t.is(status?.observedGeneration, 1, title);
    const found = status?.typeChecking?.expressionWarnings ?? [];
    if (Object.keys(warnings).length === 0) t.deepEqual(status?.typeChecking, {}, title);
    t.deepEqual(
      found.map(({fieldRef}) => fieldRef),
      Object.keys(warnings),
      `${title}: ${JSON.stringify(found)}`,
    );
    for (const {fieldRef, warning} of found) t.regex(warning, warnings[fieldRef]!, title);
    t.is(metadata?.managedFields?.find(({subresource}) => subresource === 'status')?.manager, 'validatingadmissionpolicy-status');
  }
});

test('a policy is looked at again when it has changed', async t => {
  await using plane = await aPlane({controllers: ['validatingadmissionpolicy-status-controller']});
  const policies = plane.client().resource(kinds.validatingAdmissionPolicies);
  await policies.create({metadata: {name: 'p'}, spec: {matchConstraints: deployments, validations: [{expression: 'object.spec.foo > 1'}]}});
  await plane.clock.drain();
  t.is((await policies.get('p')).status?.typeChecking?.expressionWarnings?.length, 1);

  await policies.patch('p', 'merge', {spec: {validations: [{expression: 'object.spec.replicas > 1'}]}});
  await plane.clock.drain();
  const {status} = await policies.get('p');
  t.is(status?.observedGeneration, 2);
  t.is(status?.typeChecking?.expressionWarnings, undefined);
});
