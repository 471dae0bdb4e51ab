import test from 'ava';
import {traced} from '#src/base/span.js';
import {Tracer, type EndedSpan} from '#src/observe/tracer.js';
import {aPlaneWithNode, anAgent, podsOf, run} from './agent.js';
import {MemoryRuntime} from './memory-runtime.js';

test('each sync of a pod is a trace, with the calls of the runtime', async t => {
  await using plane = await aPlaneWithNode();
  const spans: EndedSpan[] = [];
  const {clock} = plane;
  const tracer = new Tracer({
    clock,
    samplingRatePerMillion: 1_000_000,
    export: async ended => void spans.push(...ended),
    onDropped: () => t.fail(),
  });
  const runtime = new MemoryRuntime(clock);
  const {runSandbox} = runtime;
  runtime.runSandbox = (...args) =>
    traced(
      'RunPodSandbox',
      () => ({}),
      () => runSandbox.apply(runtime, args),
      true,
    );
  await using _agent = await anAgent(plane, runtime, {tracer});
  await run(plane, 'pod', {terminationGracePeriodSeconds: 0});
  await clock.advance(3_000);
  await podsOf(plane).delete('pod', {namespace: 'default'});
  await clock.advance(10_000);
  await tracer.close();

  const created = spans.find(({name, attributes}) => name === 'syncPod' && attributes['k8s.pod.update_type'] === 'create')!;
  t.like(created, {kind: 'internal', attributes: {'k8s.pod': 'default/pod', 'k8s.pod.name': 'pod', 'k8s.namespace.name': 'default'}});
  const call = spans.find(({name}) => name === 'RunPodSandbox')!;
  t.is(call.parentId, created.context.spanId);
  const own = spans.map(({name}) => name).filter(name => /^(sync|Run)/.test(name));
  t.deepEqual([...new Set(own)].sort(), ['RunPodSandbox', 'syncPod', 'syncTerminatedPod', 'syncTerminatingPod']);
});
