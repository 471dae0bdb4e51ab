// Divides the time of a profile between the parts of the server, by the folders of the sources.

/** A part of the server, and the sources that belong to it. */
type Part = readonly [name: string, sources: RegExp];

/** The first one that matches a source counts. Sources of no part work for the part that calls them. */
const parts: readonly Part[] = [
  ['HTTP/2, TLS and streams', /^src\/(serving|transport)\//],
  ['parsing and decoding', /^src\/(apiserver\/request\/body|schema\/(decode|patch|protobuf|cbor))/],
  ['managed fields', /^src\/(schema\/apply|apiserver\/registry\/write\/(field-ownership|across-versions))/],
  ['defaults and validation', /^src\/(resources|schema\/(builtin|validate|custom))\//],
  ['admission', /^src\/apiserver\/admission\//],
  ['authentication, authorization, fairness', /^src\/apiserver\/(authentication|authorization|flowcontrol)\//],
  ['records: encoding and parsing', /^src\/apiserver\/registry\/(record|object-cache|as-parsed|stored)/],
  ['registry and handlers', /^src\/apiserver\/(registry|handlers|present)\//],
  ['watches in the server', /^src\/apiserver\/watch\//],
  ['store', /^src\/storage\//],
  ['other steps of a request', /^src\/apiserver\//],
  ['clients in the process, informers', /^(src\/client|informers)\//],
  ['controllers', /^(controllers|src\/(runtime|queue|controlplane|operator))\//],
  ['scheduler', /^src\/scheduler\//],
  ['simulated nodes', /^src\/(simulation|platlet)\//],
  ['metrics and logs', /^src\/observe\//],
];

/** Native code is in no source. What no source of plat has called is the work of Node.js for its connections. */
const native = new Set(['(garbage collector)', '(program)']);
const unowned = 'HTTP/2, TLS and streams';

/** Returns the part that a sample belongs to, by the functions on its stack, the innermost first. */
export const partOf = (stack: Iterable<{readonly functionName: string; readonly source: string}>): string => {
  for (const {functionName, source} of stack) {
    if (native.has(functionName)) return functionName;
    const part = parts.find(([, sources]) => sources.test(source));
    if (part) return part[0];
  }
  return unowned;
};
