import type {GroupTable} from './group-table.js';

const v1 = {
  Overhead: '1 podFixed {quantity}',
  RuntimeClass: '@1 metadata ObjectMeta; 2 handler string!; 3 overhead *Overhead; 4 scheduling *Scheduling',
  RuntimeClassList: '@1 metadata ListMeta; 2 items []RuntimeClass!',
  Scheduling: '1 nodeSelector {string}; 2 tolerations []core/v1.Toleration',
};

/** The protobuf messages of `node`. */
export const node: GroupTable = {
  v1,
  v1alpha1: {
    ...v1,
    RuntimeClass: '@1 metadata ObjectMeta; 2 spec RuntimeClassSpec',
    RuntimeClassSpec: '1 runtimeHandler string!; 2 overhead *Overhead; 3 scheduling *Scheduling',
  },
  v1beta1: v1,
};
