#include "common/metrics/registry.h"

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <functional>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "common/base/check.h"
#include "common/base/process_stats.h"

namespace sdp {
namespace {

// A metric and the values of its labels.
using SeriesKey = std::pair<const Metric*, std::vector<std::string>>;

template <typename T>
using Families = std::map<const Metric*, prometheus::Family<T>*>;

prometheus::Labels LabelsOf(const SeriesKey& key) {
  prometheus::Labels labels;
  for (size_t i = 0; i < key.second.size(); ++i) labels[key.first->labels[i]] = key.second[i];
  return labels;
}

}  // namespace

void Counter::Add(double amount) const { counter_->Increment(amount); }
double Counter::value() const { return counter_->Value(); }
void Gauge::Set(double value) const { gauge_->Set(value); }
double Gauge::value() const { return gauge_->Value(); }
void Histogram::Observe(double value) const { histogram_->Observe(value); }

struct Registry::State : prometheus::Collectable {
  State();

  std::vector<prometheus::MetricFamily> Collect() const override {
    const double unknown = std::numeric_limits<double>::quiet_NaN();
    const absl::StatusOr<ProcessStats> stats = ReadProcessStats();
    resident_bytes->Set(stats.ok() ? static_cast<double>(stats->resident_bytes) : unknown);
    threads->Set(stats.ok() ? stats->threads : unknown);
    open_file_descriptors->Set(stats.ok() ? stats->open_file_descriptors : unknown);
    return registry.Collect();
  }

  // The series of `key`, made when it is new. `first_use`: the caller was not yet among its users and will
  // Release it. `arguments` are those of T's constructor.
  template <typename T, typename... Arguments>
  T* Get(const SeriesKey& key, bool first_use, const Families<T>& families, const Arguments&... arguments) {
    const auto family = families.find(key.first);
    SDP_CHECK(family != families.end(), key.first->name);
    SDP_CHECK(key.second.size() == key.first->labels.size(), key.first->name);
    absl::MutexLock lock(&mutex);
    T* metric = &family->second->Add(LabelsOf(key), arguments...);
    if (first_use) {
      Use& use = uses[key];
      ++use.count;
      use.remove = [family = family->second, metric] { family->Remove(metric); };
    }
    return metric;
  }

  // The caller uses the series of `key` no more; the last one's release deletes it.
  void Release(const SeriesKey& key) {
    absl::MutexLock lock(&mutex);
    const auto use = uses.find(key);
    if (--use->second.count > 0) return;
    use->second.remove();
    uses.erase(use);
  }

  // How many Series use one series, and how it is deleted.
  struct Use {
    int count = 0;
    std::function<void()> remove;
  };

  prometheus::Registry registry;
  // Filled by the constructor, constant since.
  Families<prometheus::Counter> counters;
  Families<prometheus::Gauge> gauges;
  Families<prometheus::Histogram> histograms;
  prometheus::Gauge* resident_bytes;
  prometheus::Gauge* threads;
  prometheus::Gauge* open_file_descriptors;

  absl::Mutex mutex;
  std::map<SeriesKey, Use> uses ABSL_GUARDED_BY(mutex);
};

Registry::State::State() {
  for (const Metric* metric : metrics::kTable) {
    switch (metric->type) {
      case MetricType::kCounter:
        counters[metric] =
            &prometheus::BuildCounter().Name(metric->name).Help(metric->help).Register(registry);
        break;
      case MetricType::kGauge:
        gauges[metric] = &prometheus::BuildGauge().Name(metric->name).Help(metric->help).Register(registry);
        break;
      case MetricType::kHistogram:
        histograms[metric] =
            &prometheus::BuildHistogram().Name(metric->name).Help(metric->help).Register(registry);
        break;
    }
  }
  resident_bytes = &gauges[&metrics::kProcessResidentBytes]->Add({});
  threads = &gauges[&metrics::kProcessThreads]->Add({});
  open_file_descriptors = &gauges[&metrics::kProcessOpenFileDescriptors]->Add({});
}

Registry::Registry() : state_(std::make_shared<State>()) {}
Registry::~Registry() = default;

std::string Registry::Text() const { return prometheus::TextSerializer().Serialize(state_->Collect()); }

std::shared_ptr<prometheus::Collectable> Registry::collectable() const { return state_; }

struct Series::State {
  // The series of `metric` with `values`; counts this Series among its users once. `arguments` are those of
  // T's constructor.
  template <typename T, typename... Arguments>
  T* Get(const Metric& metric, const std::vector<std::string>& values, const Families<T>& families,
         const Arguments&... arguments) {
    SeriesKey key(&metric, first_values);
    key.second.insert(key.second.end(), values.begin(), values.end());
    absl::MutexLock lock(&mutex);
    const bool first_use = used.insert(key).second;
    return registry->Get(key, first_use, families, arguments...);
  }

  std::shared_ptr<Registry::State> registry;
  std::vector<std::string> first_values;
  absl::Mutex mutex;
  std::set<SeriesKey> used ABSL_GUARDED_BY(mutex);
};

Series::Series(Registry& registry, std::vector<std::string> first_values)
    : state_(std::make_unique<State>()) {
  state_->registry = registry.state_;
  state_->first_values = std::move(first_values);
}

Series::~Series() {
  absl::MutexLock lock(&state_->mutex);
  for (const SeriesKey& key : state_->used) state_->registry->Release(key);
}

Counter Series::Get(const CounterMetric& metric, const std::vector<std::string>& values) {
  return Counter(state_->Get(metric, values, state_->registry->counters));
}

Gauge Series::Get(const GaugeMetric& metric, const std::vector<std::string>& values) {
  return Gauge(state_->Get(metric, values, state_->registry->gauges));
}

Histogram Series::Get(const HistogramMetric& metric, const std::vector<std::string>& values) {
  const std::vector<double> buckets(metric.buckets.begin(), metric.buckets.end());
  return Histogram(state_->Get(metric, values, state_->registry->histograms, buckets));
}

}  // namespace sdp
