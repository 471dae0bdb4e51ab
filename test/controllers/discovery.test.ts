import test from 'ava';
import {discover, resourceText} from '#controllers/shared/discovery.js';
import {aDefinition, startCustom} from '#test/apiserver/custom.js';

test('what a server in this process has is discovered anew only once it has changed', async t => {
  const at = await startCustom();
  const client = at.clientOf();
  const before = await discover(client);
  t.is(await discover(client), before);

  await at.define(aDefinition());
  const after = await discover(client);
  const known = new Set(before.resources.map(resourceText));
  const {names} = aDefinition().spec;
  t.deepEqual(
    after.resources.filter(each => !known.has(resourceText(each))).map(({resource}) => resource),
    [names.plural],
  );
});
