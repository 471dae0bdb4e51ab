import test from 'ava';
import type {Toleration} from '#src/api/pod.js';
import {mergedTolerations} from '#src/apiserver/admission/pods/tolerations.js';

test('tolerations are merged without those that others cover', t => {
  const exists = {operator: 'Exists'};
  const equal = (value: string, rest: Partial<Toleration> = {}): Toleration => ({key: 'a', operator: 'Equal', value, ...rest});
  const forSeconds = (tolerationSeconds: number): Toleration => equal('1', {effect: 'NoExecute', tolerationSeconds});

  for (const [first, second, merged] of [
    [[equal('1')], [equal('1')], [equal('1')]],
    [[equal('1'), equal('2')], [{key: 'a', ...exists}], [{key: 'a', ...exists}]],
    [
      [{key: 'a', ...exists}],
      [equal('1'), {key: 'b', ...exists}],
      [
        {key: 'a', ...exists},
        {key: 'b', ...exists},
      ],
    ],
    [[exists], [equal('1', {effect: 'NoSchedule'})], [exists]],
    [[{...exists, effect: 'NoExecute'}], [equal('1')], [{...exists, effect: 'NoExecute'}, equal('1')]],
    [[forSeconds(1)], [forSeconds(3), forSeconds(2)], [forSeconds(3)]],
    [[forSeconds(1)], [equal('1', {effect: 'NoExecute'})], [equal('1', {effect: 'NoExecute'})]],
    [[{key: 'a', value: '1'}], [equal('1')], [{key: 'a', value: '1'}, equal('1')]],
    [[{key: 'a', operator: 'Gt', value: '1'}], [{key: 'a', operator: 'Gt', value: '1'}], [{key: 'a', operator: 'Gt', value: '1'}]],
    [[{key: 'a', value: '1'}], [{key: 'a', value: '1', operator: ''}], [{key: 'a', value: '1', operator: ''}]],
  ] as const)
    t.deepEqual(mergedTolerations(first, second), merged as readonly Toleration[]);
});

test('many tolerations are merged without comparing each with each', t => {
  const count = 2000;
  let reads = 0;
  const many = Array.from({length: count}, (_, i) => ({
    operator: 'Equal',
    value: '1',
    effect: 'NoExecute',
    tolerationSeconds: i,
    get key() {
      reads++;
      return 'a';
    },
  }));

  t.deepEqual(
    mergedTolerations(many, []).map(({tolerationSeconds}) => tolerationSeconds),
    [count - 1],
  );
  t.true(reads < 20 * count);
});
