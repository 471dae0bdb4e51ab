import test from 'ava';
import {isCompileError, type Program} from '#src/cel/compile.js';
import {estimateCost} from '#src/cel/cost/estimate.js';
import {mostOccurrences, sizesIn} from '#src/cel/cost/sizes.js';
import {emptyEnvironment, extend, type Environment} from '#src/cel/check/environment.js';
import {Authorizations} from '#src/cel/kubernetes/authorization.js';
import {authorizerType, authorizerVariables} from '#src/cel/kubernetes/authorizer.js';
import {newExpressions, withLibrary} from '#src/cel/kubernetes/environment.js';
import {jsonPatches} from '#src/cel/kubernetes/patches.js';
import {SchemaTypes} from '#src/cel/schema/schema-types.js';
import {standard} from '#src/cel/standard/index.js';
import type {JsonSchema} from '#src/schema/json-schema.js';
import {customSchema} from '#src/schema/custom/schema.js';
import type {SchemaNode} from '#src/schema/node.js';
import {ofLanguage, ofLibraries, ofRules} from './published-costs.js';
import {compiled, evaluated} from './evaluation.js';

const program = (environment: Environment, text: string): Program => {
  const made = compiled(environment, text);
  if (isCompileError(made)) throw new Error(made.message);
  return made;
};

const nodeOf = (schema: JsonSchema): SchemaNode =>
  customSchema(
    {type: 'object', properties: {value: schema}},
    {metadata: {type: 'object'}, validateMetadata: () => []},
  ).node.properties!.get('value')!;

test('calls cost what the original documents, with the same estimates', t => {
  const environment = extend(withLibrary(newExpressions, jsonPatches), {validatesLiterals: false, variables: {authorizer: authorizerType}});
  const asker = {user: {name: 'jo', groups: []}, authorizations: new Authorizations({authorize: () => ({decision: 'allow'})})};
  const bindings = authorizerVariables(asker, {requestResource: {group: '', resource: 'pods'}});
  for (const [text, min, max, run] of ofLibraries) {
    const made = program(environment, text);
    t.deepEqual(
      estimateCost(made.ast, (_, {kind}) => (kind === 'string' || kind === 'bytes' ? {min: 0, max: 12} : undefined)),
      {min, max},
      text,
    );
    if (run !== undefined) t.is(evaluated(made, bindings).cost, run, text);
  }
});

test('expressions of the language have the documented estimates', t => {
  for (const [text, variables, min, max, sizes = {}] of ofLanguage) {
    const made = program(extend(emptyEnvironment, {libraries: [standard], variables}), text);
    const estimate = estimateCost(made.ast, (path, {kind}) => {
      const known = sizes[path.join('.')];
      return known === undefined ? (kind === 'bytes' ? {min: 0, max: 12} : undefined) : {min: 0, max: known};
    });
    t.deepEqual(estimate, {min, max}, text);
  }
});

test('rules about values of a schema cost by how large those can be', t => {
  for (const [rule, schema, unlimited, limit, limited] of ofRules) {
    for (const [most, cost] of [
      [undefined, unlimited],
      [limit, limited],
    ] as const) {
      const node = nodeOf(schema(most));
      const types = new SchemaTypes();
      const self = types.declare('self', node, false)!;
      const made = program(extend(newExpressions, {types, variables: {self, oldSelf: self}}), rule);
      t.is(estimateCost(made.ast, sizesIn(node, false)).max, cost, `${rule} ${JSON.stringify(schema(most))}`);
    }
  }
});

test('how often a value can be there follows from how little of a request it takes', t => {
  for (const [schema, count] of [
    [{type: 'integer'}, 1_572_864],
    [{type: 'string'}, 1_048_576],
    [{type: 'object', required: ['a'], properties: {a: {type: 'boolean'}, b: {type: 'string'}}}, 262_144],
  ] as const) {
    t.is(mostOccurrences(nodeOf(schema as JsonSchema)), count);
  }
});
