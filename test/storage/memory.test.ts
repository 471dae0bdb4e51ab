import test from 'ava';
import {maxFilteredKeys, PageReader} from '#src/storage/local/page.js';
import {memoryStore} from '#src/storage/memory/index.js';
import {storeSuite} from './suite.js';

storeSuite(test, {name: 'memory', open: async clock => memoryStore({clock})});

test('a page ends where a filter has looked at many keys, whatever it let through', t => {
  const page = new PageReader({limit: Infinity, bytes: Infinity, filter: {known: () => false, passes: () => true}});
  for (let i = 0; i < maxFilteredKeys; i++) page.skips(`/${i}`, 1);

  t.true(page.isFull);
  t.false(page.add({key: '/x', value: Buffer.from('x'), revision: 1, created: 1}));
  t.deepEqual([page.records, page.more, page.reached], [[], true, `/${maxFilteredKeys - 1}`]);
});
