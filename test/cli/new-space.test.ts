import {spawnSync} from 'node:child_process';
import test from 'ava';
import {boundNewSpace, type NewSpace} from '#src/program/new-space.js';

test('the space for new objects is doubled up to its bound, and again when it has become smaller', t => {
  let [size, isGrowing, collected]: [number, boolean, () => void] = [1 << 20, true, () => undefined];
  const space: NewSpace = {
    size: () => size,
    setGrowing: grows => void (isGrowing = grows),
    observe: listener => void (collected = listener),
  };
  const collect = (): number => {
    if (isGrowing) size *= 2;
    collected();
    return size >> 20;
  };
  boundNewSpace(new AbortController().signal, space);

  t.deepEqual(Array.from({length: 7}, collect), [2, 4, 8, 16, 16, 16, 16]);
  size = 2 << 20;
  t.deepEqual(Array.from({length: 5}, collect), [2, 4, 8, 16, 16]);
});

test('the engine does not double the space of a process beyond it', t => {
  const filling = (bound: string): number => {
    const script = `
      import {boundNewSpace, processNewSpace} from '#src/program/new-space.js';
      ${bound}
      const kept = [];
      for (let turn = 0; turn < 300; turn++) {
        for (let at = 0; at < 10_000; at++) kept[at] = {turn, text: 'x' + at, list: [turn, at]};
        await new Promise(resolve => setImmediate(resolve));
      }
      console.log(processNewSpace().size());`;
    const {stdout, stderr} = spawnSync(process.execPath, ['--input-type=module', '-e', script], {encoding: 'utf8'});
    t.is(stderr, '');
    return Number(stdout) / (1 << 20);
  };

  t.true(filling('') > 17, 'V8 itself doubles it further');
  const bounded = filling('boundNewSpace(new AbortController().signal);');
  t.true(bounded > 4 && bounded < 17, String(bounded));
});
