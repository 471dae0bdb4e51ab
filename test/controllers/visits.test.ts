import test from 'ava';
import {cleaner} from '#controllers/certificatesigningrequest-cleaner/reconcile.js';
import {watchNodes} from '#controllers/daemonset/node-events.js';
import {podsCoveredBy} from '#controllers/disruption/budget.js';
import {SelectorIndex} from '#controllers/horizontal-pod-autoscaler/selector-index.js';
import {protectionReconciler} from '#controllers/persistentvolumeclaim-protection/reconcile.js';
import {quotasCounting, cachedUsage, usageOf, type Quota} from '#controllers/resourcequota/usage.js';
import {deletedRangesAround} from '#controllers/service-cidr/deleted-ranges.js';
import {RangeSet} from '#controllers/service-cidr/range-set.js';
import {rangesOf, type ServiceCIDR} from '#controllers/service-cidr/ranges.js';
import {possibleChildren} from '#controllers/shared/children/children.js';
import type {Change} from '#informers/change.js';
import type {Source} from '#informers/selection.js';
import {keyText, type Frozen} from '#src/api/key.js';
import {kinds} from '#src/api/kinds/index.js';
import {naming as namingOf} from '#src/api/naming.js';
import type {Pod, PodDisruptionBudget} from '#src/api/pod.js';
import {parseQuantity} from '#src/api/quantity.js';
import {parseLabelSelector, selectorForLabels} from '#src/api/selectors/label-selector.js';
import type {KubeObject, Node} from '#src/api/types.js';
import {parseIp, parseRange, type IpRange} from '#src/base/ip-address.js';
import {Yielder} from '#src/base/turn.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {rangeWithin, isServiceAddress} from '#src/model/service-range.js';
import type {QuotaEvaluator} from '#src/model/quota/evaluator.js';
import {quotaEvaluators} from '#src/model/quota/evaluators.js';
import type {KeyedContext} from '#src/runtime/controller.js';
import {podInfoOf} from '#src/scheduler/cache/pod-info.js';
import type {Cluster} from '#src/scheduler/framework/plugin.js';
import {budgetsOf} from '#src/scheduler/preemption/budgets.js';
import {selectorOfOwners} from '#src/scheduler/topology/owners.js';
import {countingLister} from '#test/fixtures/counting-lister.js';
import {WorkingClock} from '#test/fixtures/working-clock.js';
import {attempt} from './context.js';

const naming = namingOf('plat');
const namespace = 'default';

const several = <T>(count: number, of: (index: number) => T): T[] => Array.from({length: count}, (_, index) => of(index));
const named = (name: string, labels: Record<string, string> = {}) => ({metadata: {namespace, name, uid: name, labels}});
const labelled = (index: number) => named(`object-${index}`, {n: `${index}`});
const selecting = (index: number) => ({...named(`object-${index}`), spec: {selector: {matchLabels: {n: `${index}`}}}});

/** How many objects one look visits when there are so many in all. */
type Look = (count: number) => number | Promise<number>;

const looks: Readonly<Record<string, Look>> = {
  'a change of a node at daemon sets for other nodes'(count) {
    const sets = countingLister(
      several(count, index => ({...named(`set-${index}`), spec: {template: {spec: {containers: [], nodeSelector: {n: `${index}`}}}}})),
    );
    const received: ((change: Change<Node>) => void)[] = [];
    const requested: string[] = [];
    watchNodes({
      naming,
      lister: () => sets as never,
      listen: (_: unknown, listener: unknown) => void received.push(listener as never),
      enqueue: key => void requested.push(keyText(key)),
    });
    for (const receive of received)
      receive({type: 'added', initial: false, object: {metadata: {name: 'node', labels: {n: '1', zone: 'a'}}} as Frozen<Node>});
    return requested.join() === `${namespace}/set-1` ? sets.visits : NaN;
  },
  'a budget at pods that it does not select'(count) {
    const pods = countingLister<Pod>(several(count, labelled));
    return podsCoveredBy(selecting(1) as Frozen<PodDisruptionBudget>, pods).length === 1 ? pods.visits : NaN;
  },
  'a parent at orphans that it does not select'(count) {
    const pods = countingLister<Pod>(several(count, labelled));
    return possibleChildren(pods, named('parent'), selectorForLabels({n: '1'})).length === 1 ? pods.visits : NaN;
  },
  'a change of a pod at quotas that count no pods'(count) {
    const evaluators = quotaEvaluators(naming, () => false);
    const quotas = countingLister<Quota>(
      several(count, index => ({...named(`quota-${index}`), spec: {hard: {[index === 1 ? 'pods' : 'services']: '1'}}})),
    );
    return quotasCounting(quotas, evaluators)(namespace, evaluators.of('', 'pods')!).length === 1 ? quotas.visits : NaN;
  },
  'an address at deleted ranges around others'(count) {
    const ranges = countingLister<ServiceCIDR>(
      several(count, index => ({
        metadata: {name: `range-${index}`, deletionTimestamp: '2026-01-01T00:00:00Z'},
        spec: {cidrs: [`10.0.${index}.0/24`]},
      })),
    );
    return deletedRangesAround(ranges, parseIp('10.0.1.5')!).length === 1 ? ranges.visits : NaN;
  },
  'a pod to be scheduled at services that do not select it'(count) {
    const services = countingLister(several(count, index => ({...named(`service-${index}`), spec: {selector: {n: `${index}`}}})));
    const cluster = {
      naming,
      lister: ({kind}: Source) => (kind === kinds.services.kind ? services : countingLister([])),
    } as unknown as Cluster;
    return selectorOfOwners(podInfoOf({...labelled(1), spec: {containers: []}}, {podLevel: false}), cluster).toString() === 'n=1'
      ? services.visits
      : NaN;
  },
  'a pod to be preempted at budgets that do not protect it'(count) {
    const budgets = countingLister<PodDisruptionBudget>(several(count, selecting) as PodDisruptionBudget[]);
    return budgetsOf(budgets)(podInfoOf({...labelled(1), spec: {containers: []}}, {podLevel: false})).length === 1 ? budgets.visits : NaN;
  },
  'the pods of an autoscaler at selectors of others'(count) {
    const sharing = new SelectorIndex();
    let visits = 0;
    for (let index = 0; index < count; index++) {
      const selector = parseLabelSelector(`app=all,n=${index}`);
      sharing.set(`scaler-${index}`, {
        ...selector,
        matches(labels) {
          visits++;
          return selector.matches(labels);
        },
      });
    }
    return sharing.of([named('pod', {app: 'all', n: '7'})]).join() === 'scaler-7' ? visits : NaN;
  },
  'an address at ranges that do not hold it'(count) {
    let visits = 0;
    const ranges = new RangeSet();
    for (let index = 0; index < count; index++) {
      const range = parseRange(`10.0.${index}.0/24`)!;
      ranges.add({
        bits: range.bits,
        get address() {
          visits++;
          return range.address;
        },
      });
    }
    visits = 0;
    return ranges.serves(parseIp('10.0.1.5')!) && !ranges.serves(parseIp('10.9.1.5')!) ? visits : NaN;
  },
};

for (const [title, look] of Object.entries(looks)) {
  test(`${title}: the visited objects do not grow with their number`, async t => {
    const few = await look(20);

    t.true(few > 0, `${few} visits`);
    t.is(await look(40), few);
  });
}

test('pods are listed once for all claims of a namespace', async t => {
  const work = async (count: number): Promise<number> => {
    let reads = 0;
    const pods = several(count, index => ({
      ...named(`pod-${index}`),
      get spec() {
        reads++;
        return {containers: [], nodeName: 'node', volumes: [{name: 'data', persistentVolumeClaim: {claimName: `other-${index}`}}]};
      },
    }));
    const claims = several(count, index => ({
      metadata: {
        ...named(`claim-${index}`).metadata,
        deletionTimestamp: '2026-01-01T00:00:00Z',
        finalizers: [naming.key('pvc-protection')],
      },
    }));
    const released: string[] = [];
    const context = {
      naming,
      client: {resource: () => ({list: () => Promise.resolve({items: pods})})},
      enqueue() {},
      lister: ({kind}: Source) => (kind === kinds.pods.kind ? countingLister([]) : countingLister(claims as KubeObject[])),
      writer: () => ({update: (claim: KubeObject) => Promise.resolve(void released.push(claim.metadata?.name ?? ''))}),
    } as unknown as KeyedContext;
    const loops = protectionReconciler(context) as Record<
      string,
      (key: {namespace: string; name: string}, how: typeof attempt) => Promise<unknown>
    >;
    for (const {metadata} of claims) await loops['claims']!({namespace, name: metadata.name}, attempt);
    await loops['namespaces']!({namespace: '', name: namespace}, attempt);
    t.is(released.length, count);
    return reads;
  };

  t.is(await work(40), 2 * (await work(20)));
});

test('the usage of an object is computed once for all quotas, and again while it is terminating', async t => {
  let reckoned = 0;
  const evaluator: QuotaEvaluator = {
    group: '',
    resource: 'pods',
    handles: () => true,
    matchesResource: name => name === 'pods',
    usage() {
      reckoned++;
      return new Map([['pods', parseQuantity('1')]]);
    },
  };
  const objects = [labelled(1), labelled(2), {metadata: {...labelled(3).metadata, deletionTimestamp: '2026-01-01T00:00:00Z'}}];
  const usage = cachedUsage();
  const pieces = new Yielder(new VirtualClock());
  const count = () => usageOf({spec: {hard: {pods: '9'}}}, {evaluator, objects, usage, now: 0, pieces});

  t.deepEqual([await count(), await count(), await count()], [{pods: '3'}, {pods: '3'}, {pods: '3'}]);
  t.is(reckoned, 2 + 3);
});

test('a set of ranges answers as its ranges do one by one', t => {
  const texts = ['10.0.0.0/8', '10.1.0.0/16', '10.1.2.0/24', '10.1.2.9/31', '0.0.0.0/0', 'fd00::/64', 'fd00::5/126', '::/0', '10.1.3.7/32'];
  const own = (count: number) => texts.slice(0, count).map(text => parseRange(text)!);
  const addresses = [
    '10.1.2.0',
    '10.1.2.1',
    '10.1.2.255',
    '10.1.2.8',
    '10.1.2.10',
    '10.255.255.255',
    '11.0.0.1',
    'fd00::',
    'fd00::5',
    'fd00:1::1',
    '::ffff:10.1.2.3',
    '10.1.3.7',
  ].map(text => parseIp(text)!);
  const wider: IpRange[] = ['10.1.2.0/25', '10.1.0.0/16', '11.0.0.0/8', 'fd00::4/127', '::/0'].map(text => parseRange(text)!);
  for (let count = 0; count <= texts.length; count++) {
    const set = new RangeSet();
    for (const range of own(count)) set.add(range);

    t.deepEqual(
      addresses.map(address => set.serves(address)),
      addresses.map(address => own(count).some(range => isServiceAddress(range, address))),
    );
    t.deepEqual(
      wider.map(inner => set.surrounds(inner)),
      wider.map(inner => own(count).some(outer => rangeWithin(inner, outer))),
    );
  }
});

test('deleted ranges around an address are found by what each contains', t => {
  const ranges: ServiceCIDR[] = [['10.0.0.0/8', 'fd00::/64'], ['10.1.2.0/24', '10.1.0.0/16'], ['::/0'], ['10.1.2.3/32']].map(
    (cidrs, index) => ({metadata: {name: `range-${index}`, deletionTimestamp: '2026-01-01T00:00:00Z'}, spec: {cidrs}}),
  );
  const lister = countingLister([...ranges, {metadata: {name: 'stays'}, spec: {cidrs: ['10.0.0.0/8']}}]);
  for (const text of ['10.1.2.3', '10.1.2.0', '10.9.9.9', '11.1.1.1', 'fd00::1', 'fd00::', '::ffff:10.1.2.3', '2001::1']) {
    const address = parseIp(text)!;
    const expected = ranges
      .filter(range => rangesOf(range).some(each => isServiceAddress(each, address)))
      .map(({metadata}) => metadata?.name);

    t.deepEqual(
      deletedRangesAround(lister, address)
        .map(({metadata}) => metadata?.name)
        .sort(),
      expected,
      text,
    );
  }
});

test('a pass over all certificate signing requests yields to other work', async t => {
  const clock = new WorkingClock();
  const requests = several(100, index => ({
    ...named(`request-${index}`),
    get status() {
      clock.work(1);
      return {certificate: '', conditions: [{type: 'Approved', status: 'True', lastUpdateTime: '2020-01-01T00:00:00Z'}]};
    },
  }));
  const deleted: KubeObject[] = [];
  const context = {
    clock,
    client: {resource: () => ({list: () => Promise.resolve({metadata: {}, items: requests})})},
    writer: () => ({delete: (csr: KubeObject) => Promise.resolve(void deleted.push(csr))}),
  } as unknown as KeyedContext;

  await cleaner(context)({namespace: '', name: ''}, attempt);

  t.is(deleted.length, 100);
  t.true(clock.longestMs < 20, `${clock.longestMs} ms in one turn`);
});
