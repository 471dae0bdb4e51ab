import test from 'ava';
import {readLongList} from '#src/client/list-body.js';

const item = (index: number) => ({metadata: {name: `map-${index}`, annotations: {items: '[{"]}\\', 'a,b': '"'}}, data: {text: `ü€𝄞 ${'x'.repeat(500)}`, list: [[1], {}], n: -1.5e3, no: null}});
const items = Array.from({length: 1000}, (_, index) => item(index));

const lists: readonly [title: string, list: unknown][] = [
  ['a list', {kind: 'ConfigMapList', apiVersion: 'v1', metadata: {resourceVersion: '7', continue: '', remainingItemCount: 3}, items}],
  ['a list whose items come first', {items, kind: 'ConfigMapList', apiVersion: 'v1'}],
  ['a list with items that are no objects', {metadata: {items: [1]}, items: Array.from({length: 50_000}, (_, index) => `text, ${index}]`)}],
  ['a list without items, but with much else', {metadata: {text: 'x'.repeat(300_000)}, items: []}],
];
for (const [title, list] of lists) {
  for (const indent of [undefined, 2]) {
    test(`${title} is read in pieces as it is in one${indent ? ', with white space too' : ''}`, async t => {
      t.deepEqual(await readLongList(Buffer.from(JSON.stringify(list, undefined, indent))), list);
    });
  }
}

test('what is no long list is left to be read in one piece', async t => {
  const text = JSON.stringify({kind: 'ConfigMapList', items});
  const others = ['{"items":[]}', JSON.stringify({data: {text: 'x'.repeat(300_000)}}), `${text.slice(0, -5)}`, `${text}}`, `${text.slice(0, -1)},"items":[1]}`, text.replace('map-999"', 'map-999')];

  for (const other of others) t.is(await readLongList(Buffer.from(other)), undefined, other.slice(-40));
});

test('others get their turns while a long list is read', async t => {
  const body = Buffer.from(JSON.stringify({kind: 'ConfigMapList', items: [...items, ...items, ...items]}));
  let turns = 0;
  let isDone = false;
  setImmediate(function count() {
    if (isDone) return;
    turns++;
    setImmediate(count);
  });

  await readLongList(body);
  isDone = true;

  t.true(turns >= Math.floor(body.length / (140 << 10)), `${turns} turns for ${body.length} bytes`);
});
