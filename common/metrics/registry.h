// The metrics of this process: series of the table in names.h.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "common/metrics/names.h"

namespace prometheus {
class Collectable;
class Counter;
class Gauge;
class Histogram;
}  // namespace prometheus

namespace sdp {

// Handles of one series each. Valid as long as the Series that gave them; cheap to copy; thread-safe.
class Counter {
 public:
  void Add(double amount) const;  // negative amounts are ignored
  double value() const;

 private:
  friend class Series;
  explicit Counter(prometheus::Counter* counter) : counter_(counter) {}
  prometheus::Counter* counter_;
};

class Gauge {
 public:
  void Set(double value) const;
  double value() const;

 private:
  friend class Series;
  explicit Gauge(prometheus::Gauge* gauge) : gauge_(gauge) {}
  prometheus::Gauge* gauge_;
};

class Histogram {
 public:
  void Observe(double value) const;

 private:
  friend class Series;
  explicit Histogram(prometheus::Histogram* histogram) : histogram_(histogram) {}
  prometheus::Histogram* histogram_;
};

// Every family of the table, created once. Thread-safe. Must outlive its Series; a process has one.
class Registry {
 public:
  Registry();
  ~Registry();
  Registry(const Registry&) = delete;
  Registry& operator=(const Registry&) = delete;

  // Everything in Prometheus's text format. The process's own memory, threads and file descriptors are read
  // at that moment, here and at each scrape.
  std::string Text() const;
  // The same for an HTTP server. Lives at least as long as the registry.
  std::shared_ptr<prometheus::Collectable> collectable() const;

 private:
  friend class Series;
  struct State;
  std::shared_ptr<State> state_;
};

// The series of a job, of a worker or of the process: those it has handed out go when it goes. Two of them
// may share a series; it goes with the last. Thread-safe, though a series that is set often should be got
// once and its handle kept.
class Series {
 public:
  // `first_values` are the values of the first labels of every metric got from here, as the job's id is.
  explicit Series(Registry& registry, std::vector<std::string> first_values = {});
  ~Series();
  Series(const Series&) = delete;
  Series& operator=(const Series&) = delete;

  // The series of `metric` whose remaining labels have `values`, in the table's order; made when it is new.
  // A metric outside the table or a wrong number of values ends the process: the program guarantees both.
  Counter Get(const CounterMetric& metric, const std::vector<std::string>& values = {});
  Gauge Get(const GaugeMetric& metric, const std::vector<std::string>& values = {});
  Histogram Get(const HistogramMetric& metric, const std::vector<std::string>& values = {});

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace sdp
