import {labelKeyProblems} from '#src/api/names.js';
import type {Naming} from '#src/api/naming.js';
import type {KubeObject} from '#src/api/types.js';

/**
 * Warns about new finalizers of a custom resource without a domain: any name is valid, but one with a domain is unique.
 */
export function* finalizerWarnings(
  {metadata}: Readonly<KubeObject>,
  old: Readonly<KubeObject> | undefined,
  {naming}: {readonly naming: Naming},
): Iterable<string> {
  const before = new Set(old?.metadata?.finalizers);
  const added = new Set(metadata?.finalizers?.filter(finalizer => !before.has(finalizer)));
  const standard = ['orphan', 'foregroundDeletion', naming.namespaceFinalizer];
  for (const finalizer of [...added].sort()) {
    const start = `metadata.finalizers: ${JSON.stringify(finalizer)}:`;
    for (const problem of labelKeyProblems(finalizer)) yield `${start} ${problem}`;
    if (finalizer.includes('/') || standard.includes(finalizer)) continue;
    yield `${start} prefer a domain-qualified finalizer name ${finalizer.includes('.') ? 'including a path (/) ' : ''}to avoid accidental conflicts with other finalizer writers`;
  }
}
