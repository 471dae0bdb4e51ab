import type {GroupTable} from './group-table.js';

const v1 = {
  Event:
    '@1 metadata ObjectMeta; 2 eventTime microtime; 3 series *EventSeries; 4 reportingController string; 5 reportingInstance string; 6 action string; 7 reason string; 8 regarding core/v1.ObjectReference; 9 related *core/v1.ObjectReference; 10 note string; 11 type string; 12 deprecatedSource core/v1.EventSource; 13 deprecatedFirstTimestamp time; 14 deprecatedLastTimestamp time; 15 deprecatedCount int32',
  EventList: '@1 metadata ListMeta; 2 items []Event!',
  EventSeries: '1 count int32!; 2 lastObservedTime microtime',
};

/** The protobuf messages of `events`. */
export const events: GroupTable = {
  v1,
  v1beta1: v1,
};
