import {kinds} from '#src/api/kinds/index.js';
import type {Naming} from '#src/api/naming.js';
import type {Pod} from '#src/api/pod.js';
import type {Reader} from '#src/api/reader.js';
import {featuresForUpdate} from '#src/model/pod/required-features.js';
import type {AdmissionPlugin} from '#src/apiserver/admission/admission.js';
import {targetsOf} from '#src/apiserver/admission/handles.js';
import {podIn} from '#src/apiserver/admission/request-kind.js';
import {refuse} from '#src/apiserver/admission/refuse.js';

interface Parts {
  readonly naming: Naming;
  readonly reader: Reader;
  gate(name: string): boolean;
}

/** Refuses changes of bound pods that need features which their node does not declare (KEP-5328). */
export const nodeDeclaredFeatures = ({naming, reader, gate}: Parts): AdmissionPlugin => ({
  name: 'NodeDeclaredFeatureValidator',
  handles: {operations: ['UPDATE'], targets: targetsOf(naming, kinds.pods, '', 'resize')},
  async validate(attributes) {
    if (!gate('NodeDeclaredFeatures')) return;
    const pod = podIn(attributes);
    const old = attributes.oldObject as Readonly<Pod>;
    // The generation changes with the spec alone.
    if (!pod?.spec.nodeName || pod.metadata?.generation === old.metadata?.generation) return;
    const {nodeName} = pod.spec;
    const needed = featuresForUpdate(old, pod.spec);
    if (needed.length === 0) return;
    const node = await reader.get(kinds.nodes, '', nodeName);
    if (!node) throw refuse(attributes, `node ${JSON.stringify(nodeName)} not found`);
    const declared = new Set((node.status as {readonly declaredFeatures?: readonly string[]} | undefined)?.declaredFeatures);
    const missing = needed.filter(feature => !declared.has(feature));
    if (missing.length === 0) return;
    throw refuse(
      attributes,
      `pod update requires features ${missing.join(', ')} which are not available on node ${JSON.stringify(nodeName)}`,
    );
  },
});
