import test from 'ava';
import {VirtualClock} from '#src/base/virtual-clock.js';
import type {Commit} from '#src/storage/local/medium.js';
import {LocalStore} from '#src/storage/local/store.js';
import {MemoryMedium} from '#src/storage/memory/medium.js';
import {brief, Follower} from './follower.js';
import {bytes} from './world.js';

/** A medium that is full as long as it is told to be. */
class FillingMedium extends MemoryMedium {
  full = false;

  override async commit(commit: Commit): Promise<void> {
    await new Promise(resolve => setImmediate(resolve));
    if (this.full) throw new Error('no space left');
    await super.commit(commit);
  }
}

test('a commit that fails changes nothing and takes along what was queued behind it', async t => {
  const medium = new FillingMedium();
  const store = new LocalStore(medium, new VirtualClock());
  const revision = await store.create('/a', bytes('1'));
  using follower = new Follower(store, {after: 1});
  medium.full = true;

  const first = [store.delete('/a', revision), store.create('/b', bytes('1'))];
  await new Promise(resolve => setImmediate(resolve));
  const queued = store.create('/a', bytes('2'));
  const outcomes = await Promise.allSettled([...first, queued]);
  medium.full = false;

  t.deepEqual(outcomes.map(({status}) => status), ['rejected', 'rejected', 'rejected']);
  t.is(store.revision(), revision);
  t.is(store.get('/a')?.value.toString(), '1');
  t.is(await store.update('/a', bytes('3'), revision), revision + 1);
  t.is(await store.create('/b', bytes('1')), revision + 2);
  await follower.until(({heard}) => heard.length === 3);
  t.deepEqual(follower.heard.map(brief), ['+/a 2', '~/a 3', '+/b 4']);
  await store.close();
});

test('deletions of a lease that ran out are tried again once they can be written', async t => {
  const medium = new FillingMedium();
  const clock = new VirtualClock();
  const store = new LocalStore(medium, clock);
  await store.create('/a', bytes('1'), {lease: store.lease(5)});
  medium.full = true;
  await clock.advance(6000);
  t.is(store.count('/', '0'), 1);
  medium.full = false;

  await clock.advance(10_000);

  t.is(store.count('/', '0'), 0);
  await store.close();
});
