import type {StorageClass} from '#src/model/volumes.js';
import {noVolume, testBinder, type BinderCase} from './volumes.js';

// Claims with and without classes, by the numbers of upstream's pkg/controller/volume/persistentvolume/binder_test.go:
// of TestSync set 13, and of its claims that get a default class later set 15.
const aDefault = (name: string, creationTimestamp = '2026-01-01T00:00:00Z'): StorageClass => ({
  metadata: {name, creationTimestamp, annotations: {'storageclass.plat.io/is-default-class': 'true'}},
  provisioner: 'disk.example.com',
  reclaimPolicy: 'Delete',
  volumeBindingMode: 'Immediate',
});

const cases: readonly BinderCase[] = [
  {
    title: '13-1 a volume of the requested class is chosen even if a smaller one is available',
    volumes: ['v1 1Gi Available', 'v2 10Gi Available class=gold'],
    claims: ['c 1Gi Pending class=gold'],
    end: ['v1 Available', 'v2 Bound claim=c ctl', 'c Bound volume=v2 capacity=10Gi class=gold ctl done'],
  },
  {
    title: '13-2 a claim without a class gets a volume without one even if a smaller one is available',
    volumes: ['v1 1Gi Available class=gold', 'v2 10Gi Available'],
    claims: ['c 1Gi Pending'],
    end: ['v1 Available', 'v2 Bound claim=c ctl', 'c Bound volume=v2 capacity=10Gi ctl done'],
  },
  {
    title: '13-3 a volume of the requested class is chosen even if a smaller one of another is available',
    volumes: ['v1 1Gi Available class=silver', 'v2 10Gi Available class=gold'],
    claims: ['c 1Gi Pending class=gold'],
    end: ['v1 Available', 'v2 Bound claim=c ctl', 'c Bound volume=v2 capacity=10Gi class=gold ctl done'],
  },
  {
    title: '13-4 a claim of the empty class gets a volume without a class',
    volumes: ['v 1Gi Available'],
    claims: ['c 1Gi Pending class='],
    classes: [aDefault('gold')],
    end: ['v Bound claim=c ctl', 'c Bound volume=v capacity=1Gi ctl done'],
  },
  {
    title: '13-5 the class of the annotation takes precedence',
    volumes: ['v1 1Gi Available class0=gold', 'v2 1Gi Available class=silver'],
    claims: ['c 1Gi Pending class0=gold'],
    end: ['v1 Bound claim=c ctl class0=gold', 'v2 Available', 'c Bound volume=v1 capacity=1Gi ctl done class0=gold'],
  },
  {
    title: '15-1 a claim without any class gets the default class, the newest if there are several',
    claims: ['c 1Gi Pending'],
    classes: [
      aDefault('gold', '2026-01-01T00:00:00Z'),
      aDefault('silver', '2026-01-02T00:00:00Z'),
      aDefault('tin', '2026-01-02T00:00:00Z'),
    ],
    end: ['c Pending class=silver'],
  },
  {
    title: '15-2 a claim of the empty class does not get the default one',
    claims: ['c 1Gi Pending class='],
    classes: [aDefault('gold')],
    end: ['c Pending'],
    events: [noVolume],
  },
  {
    title: '15-3 a claim without any class is bound rather than given the default one',
    volumes: ['v 1Gi Available'],
    claims: ['c 1Gi Pending'],
    classes: [aDefault('gold')],
    end: ['v Bound claim=c ctl', 'c Bound volume=v capacity=1Gi ctl done'],
  },
];

testBinder(cases);
