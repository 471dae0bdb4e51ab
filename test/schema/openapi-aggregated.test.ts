import test from 'ava';
import {runSteps, type Steps} from '#src/base/steps.js';
import {convertToV3, mergeParts, pathsUnder} from '#src/schema/openapi/aggregated.js';
import {definitionMessageInSteps, pathMessage, pathMessageInSteps} from '#src/schema/openapi/swagger-message.js';

const count = 5000;

/** Runs the steps and counts them. */
const counted = <T>(work: Steps<T>): {readonly result: T; readonly steps: number} => {
  for (let steps = 1; ; steps++) {
    const {done, value} = work.next();
    if (done) return {result: value, steps};
  }
};

const reference = (to: string) => ({$ref: `#/definitions/${to}`});
const parameters = Array.from({length: count}, (_, index) => ({name: `p${index}`, in: 'query', type: 'string'}));

/** A document with one path of very many parameters and one definition of very many properties. */
const document = {
  swagger: '2.0',
  info: {title: 'large', version: '1'},
  paths: {'/apis/example.com/items': {parameters: [...parameters, {name: 'body', in: 'body', schema: reference('Wide')}]}},
  definitions: {
    Wide: {type: 'object', properties: Object.fromEntries(parameters.map(({name}) => [name, reference('Item')]))},
    Item: {type: 'string'},
  },
};

test('an OpenAPI document of another server is read, merged, converted and encoded in steps, however large one path or definition is', t => {
  const few = 1000;
  const read = counted(pathsUnder(document, '/apis/example.com/'));
  const other = {...document.definitions, Wide: {...document.definitions.Wide, type: 'other'}, Item: {type: 'integer'}};
  const merged = counted(mergeParts({definitions: other}, [read.result]));
  const three = counted(convertToV3(document, read.result));
  const path = counted(pathMessageInSteps('/', document.paths['/apis/example.com/items']));
  const definition = counted(definitionMessageInSteps('Wide', document.definitions.Wide));

  const steps = [read, merged, three, path, definition].map(each => each.steps);
  t.true(
    steps.every(each => each > few),
    steps.join(),
  );
  t.deepEqual(read.result, {paths: document.paths, definitions: document.definitions});
  const {definitions, paths} = merged.result as typeof document;
  t.deepEqual(Object.keys(definitions), ['Wide', 'Item', 'Wide_v2', 'Item_v2']);
  t.deepEqual(
    (definitions as unknown as Record<string, typeof document.definitions.Wide>)['Wide_v2']!.properties['p7'],
    reference('Item_v2'),
  );
  t.deepEqual(paths['/apis/example.com/items'].parameters.at(-1), {name: 'body', in: 'body', schema: reference('Wide_v2')} as never);
  t.is(JSON.stringify(three.result).split('#/components/schemas/Item').length, count + 1);
  t.deepEqual(path.result, pathMessage('/', document.paths['/apis/example.com/items']));
});

test('large definitions that are the same in both documents are not renamed', t => {
  const part = runSteps(pathsUnder(document, '/apis/example.com/'));

  const {definitions} = runSteps(mergeParts({definitions: structuredClone(document.definitions)}, [part])) as typeof document;

  t.deepEqual(Object.keys(definitions), ['Wide', 'Item']);
});

test('shared parameters that would make a document much larger are refused', t => {
  const shared = {...document, parameters: {long: {name: 'long', in: 'query', description: 'x'.repeat(1 << 20)}}};
  const using = (times: number) => ({
    ...shared,
    paths: {'/apis/example.com/': {parameters: Array.from({length: times}, () => ({$ref: '#/parameters/long'}))}},
  });

  t.deepEqual(runSteps(pathsUnder(using(1), '/apis/')).paths, {'/apis/example.com/': {parameters: [shared.parameters.long]}});
  t.throws(() => runSteps(pathsUnder(using(100), '/apis/')), {message: /shared parameters/});
});

test('a chain of a hundred thousand definitions is followed to its end', t => {
  const definitions = Object.fromEntries(Array.from({length: 100_000}, (_, index) => [`d${index}`, {items: reference(`d${index + 1}`)}]));

  const part = runSteps(pathsUnder({paths: {'/apis/a': {schema: reference('d0')}}, definitions}, '/apis/'));

  t.is(Object.keys(part.definitions).length, 100_000);
});
